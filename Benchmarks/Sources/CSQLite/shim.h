// The C interface of the installed SQLite.
#pragma once
#include <sqlite3.h>
