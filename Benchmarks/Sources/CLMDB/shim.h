// The C interface of the installed LMDB.
#pragma once
#include <lmdb.h>
