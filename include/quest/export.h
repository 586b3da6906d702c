#pragma once

// Symbols are hidden by default; this marks the few that users link to.
#define QUEST_API __attribute__((visibility("default")))
