"""A language model in a text environment: any function from messages to a text is a model.

A model of transformers, and one behind an API:

    chat = transformers.pipeline("text-generation", NAME)
    model = lambda messages: chat(messages)[0]["generated_text"][-1]["content"]

    client = openai.OpenAI()
    answer = client.chat.completions.create
    model = lambda messages: answer(model=NAME, messages=messages).choices[0].message.content
"""

from collections.abc import Callable
from pathlib import Path

import burnish.envs
from burnish.envs.text_env import TextEnv

Message = dict[str, str]  # of a chat: role and content
Model = Callable[[list[Message]], str]


def play(env: TextEnv, model: Model) -> tuple[list[Message], list[float]]:
    """Play an episode; return the chat and the rewards, which a learner needs."""
    message, _ = env.reset(seed=0)
    chat: list[Message] = [{"role": "user", "content": message}]
    rewards: list[float] = []
    ended = False
    while not ended:
        answer = model(chat)
        message, reward, terminated, truncated, _ = env.step(answer)
        chat += [{"role": "assistant", "content": answer}, {"role": "user", "content": message}]
        rewards.append(reward)
        ended = terminated or truncated
    return chat, rewards


def scripted(chat: list[Message]) -> str:
    """Stand in for a model, without a network."""
    plan = ["mem2reg", "gvn", "simplifycfg<no-keep-loop>", "simplifycfg", "stop"]
    return f"I apply one pass after the other.\n\nAction: {plan[len(chat) // 2]}"


env = burnish.envs.make_text("llvm_passes", Path(__file__).with_name("hot.c"), characters=500)
chat, rewards = play(env, scripted)
for turn, reward in enumerate(rewards):
    said, result = chat[2 * turn + 1]["content"], chat[2 * turn + 2]["content"]
    print(f"{said.splitlines()[-1]:40} {reward:6.3f}  {result.splitlines()[0][:120]}")
print(f"return: {sum(rewards):.3f}")
env.close()
