"""A scripted agent drives `burnish mcp`: it applies the first action that lowers the cost, five times."""

import asyncio
import sys
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

HERE = Path(__file__).parent


async def main() -> None:
    server = ["-m", "burnish.cli", "mcp", "--folder", str(HERE)]
    async with Client(StdioServerParameters(command=sys.executable, args=server)) as client:

        async def call(tool: str, **named: Any) -> Any:
            answer = await client.call_tool(tool, named)
            if answer.is_error:
                raise SystemExit(str(answer.content))
            return answer.structured_content

        now = await call("open_program", path="hot.c", task="llvm_passes")
        program, objective = now["program"], "ir-instructions"
        print(f"{now['costs'][objective]:g} instructions")
        for _ in range(5):
            legal = await call("legal_actions", program=program, state=now["state"])
            for action in legal["entries"]:
                after = await call("apply", program=program, state=now["state"], entry=action["entry"])
                if after.get("cost_changes", {}).get(objective, 0) < 0:
                    now = after
                    print(f"{now['costs'][objective]:g} after {action['entry']}: {action['effect']}")
                    break


asyncio.run(main())
