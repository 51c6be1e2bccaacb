// SQLite, as the system has it.
#pragma once
#include <sqlite3.h>
