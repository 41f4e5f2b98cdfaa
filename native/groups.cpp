#include "groups.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instruction.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace burnish {
namespace {

// Whether it is in no section of its choice, and nothing outside of the module refers to it.
bool may_move(const Function &function) {
  return !function.isDeclaration() && function.hasLocalLinkage() && !function.hasComdat() && !function.hasSection();
}

// The group of all that refers to a function, by way of constants, too; none where something is in no group.
Comdat *group_of_users(const Function &function) {
  Comdat *group = nullptr;
  SetVector<const User *> open(function.user_begin(), function.user_end());
  for (size_t i = 0; i < open.size(); i++) {
    const User *user = open[i];
    const GlobalObject *owner = dyn_cast<GlobalObject>(user); // of an initializer, or a personality
    if (const auto *instruction = dyn_cast<Instruction>(user))
      owner = instruction->getFunction();
    if (owner == &function)
      continue;
    if (!owner) {
      if (isa<GlobalValue>(user)) // an alias
        return nullptr;
      open.insert(user->user_begin(), user->user_end());
      continue;
    }
    Comdat *other = const_cast<Comdat *>(owner->getComdat());
    if (!other || (group && other != group))
      return nullptr;
    group = other;
  }
  return group;
}

// The only function whose instructions refer to a variable; null if there are more, or other users.
const Function *only_user(const GlobalVariable &variable) {
  const Function *only = nullptr;
  for (const User *user : variable.users()) {
    const auto *instruction = dyn_cast<Instruction>(user);
    if (!instruction || (only && only != instruction->getFunction()))
      return nullptr;
    only = instruction->getFunction();
  }
  return only;
}

bool is_string(const GlobalVariable &variable) {
  if (!variable.hasInitializer() || !variable.isConstant() || !variable.hasLocalLinkage() ||
      !variable.hasGlobalUnnamedAddr() || variable.hasSection() || variable.hasComdat())
    return false;
  const auto *content = dyn_cast<ConstantDataSequential>(variable.getInitializer());
  return content && content->isCString();
}

} // namespace

void separate_strings(Module &module) {
  module.changed();
  for (GlobalVariable &variable : module.ir().globals())
    if (is_string(variable)) {
      const Function *user = only_user(variable);
      variable.setSection((".rodata." + (user ? user->getName() : variable.getName()) + ".str1").str());
    }
}

bool join_groups(Module &module) {
  bool changed = false, again = true;
  while (again) { // what is called by a function that has just moved may move, too
    again = false;
    for (Function &function : module.ir())
      if (may_move(function))
        if (Comdat *group = group_of_users(function)) {
          function.setComdat(group);
          again = true;
        }
    changed |= again;
  }
  if (changed)
    module.changed();
  return changed;
}

} // namespace burnish
