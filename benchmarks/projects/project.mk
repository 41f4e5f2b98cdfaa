# How every project here is built. A project's Makefile names the C files of the package (SOURCES, relative to
# SRC), their FLAGS and LIBRARIES; its own driver.c is built with them, into BUILD/program.
#
#   make check CC="burnish cc" SRC=<unpacked sdist> BUILD=<output folder>
#
# `check` prints a text that depends on nothing but what the program computes.

ifndef SRC
$(error SRC is not set: the folder of the unpacked sdist)
endif

CC = clang
CFLAGS = -Oz
BUILD = build
PYTHON = python3

HERE := $(dir $(firstword $(MAKEFILE_LIST)))
OBJECTS = $(SOURCES:%.c=$(BUILD)/objects/%.o) $(BUILD)/objects/driver.o
COMPILE = $(CC) $(CFLAGS) -w $(FLAGS) -I$(HERE).. -c

.PHONY: all check
all: $(BUILD)/program

$(BUILD)/program: $(OBJECTS)
	$(CC) $(CFLAGS) -o $@ $^ $(LIBRARIES)

$(BUILD)/objects/driver.o: $(HERE)driver.c $(HERE)../inputs.h
	@mkdir -p $(@D)
	$(COMPILE) -o $@ $<

$(BUILD)/objects/%.o: $(SRC)/%.c
	@mkdir -p $(@D)
	$(COMPILE) -o $@ $<
