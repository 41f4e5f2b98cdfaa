// A profile of earlier runs: its counts in a module before any search.
#pragma once

#include "module.h"

#include "llvm/ADT/Any.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/PGOOptions.h"

#include <memory>
#include <optional>
#include <string>

namespace burnish {

// Profiles that a pass of clang's pipeline reads: of counters that LLVM's passes insert (-fprofile-generate), and of
// samples (-fprofile-sample-use). clang's front end itself reads those of its own counters
// (-fprofile-instr-generate), so they are in the module from the start.
enum class ProfileKind { counters, samples };

struct ProfileUse {
  ProfileKind kind;
  std::string path;
  bool discriminators = false; // -fdebug-info-for-profiling
  bool infers = false;         // -mllvm -sample-profile-use-profi
};

// Runs clang's pipeline at a level up to the pass that reads the profile, and returns the module as that pass leaves
// it: with branch weights, entry counts and the profile's summary. In this module clang<LEVEL> is the rest of clang's
// pipeline. Metadata that no pass reads marks it. Throws FatalError if the profile cannot be read.
std::unique_ptr<Module> with_counts(const Module &module, const std::string &level, const ProfileUse &use);

// Returns the kind of the profile whose counts a module has from `with_counts`.
std::optional<ProfileKind> counted_profile(const llvm::Module &module);

// Returns the name of the pass that reads a profile.
llvm::StringRef counting_pass(ProfileKind kind);

// Returns options for clang's pipeline that is not to read the profile any more, because it begins after that pass.
llvm::PGOOptions rest_of(ProfileKind kind);

// The functions that are optimized for size: those that LLVM's ProfileSummaryInfo calls cold, as clang does with -mllvm
// -pgo-cold-func-opt=minsize; those, too, whose blocks have at most a ten-thousandth of all counts of the profile; the
// same, and no call of them is inlined, because that would make callers larger.
enum class Cold { llvms, seldom, not_inlined };

// Returns the module after clang's pipeline at a level for speed, in which cold functions were optimized for size. All
// other functions are settled: no later pass changes them. `module` is of `with_counts`. Null if no function is cold.
std::unique_ptr<Module> with_small_cold_functions(const Module &module, const std::string &level, Cold cold);

// Returns the sum of a profile's counts, of all modules of the program; 0 without a profile.
uint64_t total_count(const llvm::Module &module);

// Returns whether some functions of a module are settled.
bool has_settled_functions(const llvm::Module &module);

// Returns whether a pass may run on a part of a module with settled functions. Passes on the whole module may not, but
// for those that only remove what nothing uses.
bool may_change(llvm::StringRef pass, const llvm::Any &part);

} // namespace burnish
