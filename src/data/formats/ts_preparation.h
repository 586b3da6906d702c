#pragma once

// What the reference protocol does to the series of one file before a model sees them. Needs no torch.

#include "data/formats/ts.h"

namespace quest::data {

// Missing values lie on the line between their neighbours in the case, or equal the nearest one at its ends. Throws
// FormatError for a dimension of a case without any value.
void fill_missing(TsFile& file);

// Zero mean and unit deviation (n - 1) of every dimension over all steps of all cases of this file: training and test
// data are each standardised by their own statistics.
void standardize(TsFile& file);

// For the data set EthanolConcentration: every case has zero mean over its steps, and every step is divided by its
// deviation over the dimensions.
void normalize_cases(TsFile& file);

}  // namespace quest::data
