#include "sodium/version.h"
