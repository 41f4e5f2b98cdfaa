# How check_projects.py builds a workload: SOURCES, relative to SRC, and DRIVER, with FLAGS and LIBRARIES, into
# BUILD/program. It passes all of them, as burnish.corpora.workloads knows them, and CC and CFLAGS.
OBJECTS = $(SOURCES:%.c=$(BUILD)/objects/%.o) $(BUILD)/objects/driver.o
COMPILE = $(CC) $(CFLAGS) $(FLAGS) -c

.PHONY: all
all: $(BUILD)/program

$(BUILD)/program: $(OBJECTS)
	$(CC) $(CFLAGS) -o $@ $^ $(LIBRARIES)

$(BUILD)/objects/driver.o: $(DRIVER)
	@mkdir -p $(@D)
	$(COMPILE) -o $@ $<

$(BUILD)/objects/%.o: $(SRC)/%.c
	@mkdir -p $(@D)
	$(COMPILE) -o $@ $<
