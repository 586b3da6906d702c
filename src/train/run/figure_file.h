#pragma once

// figures/ID.json of a run: a figure as data, which `quest report` draws.
//
//   {"id": "calibration", "title": "Reliability", "caption": "…",
//    "panels": [{"title": "", "kind": "line", "x_title": "confidence", "y_title": "accuracy",
//                "series": [{"name": "this run", "x": [0.05, 0.15], "y": [0.1, 0.2]}]}]}
//
// Kinds: "line" (x may be left out: 1, 2, 3, …), "bars" (one series; x names the bars), "heat" ("rows", "columns",
// "cells": lists of rows of numbers from 0 to 1 or null), "graph" ("nodes": {"x", "y", from 0 to 1, y downwards;
// "kind", which has a colour; "wrong", drawn as a ring; "text"}, "edges": pairs of places in "nodes").

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace quest::train {

inline constexpr const char* kFigureFolder = "figures";

void write_figure(const std::filesystem::path& run, const nlohmann::ordered_json& figure);

}  // namespace quest::train
