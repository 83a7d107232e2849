/** Toolsets: files in a folder, a to-do list, thoughts, memories; a rule decides which calls need approval. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Json } from "superstep"
import { agent } from "superstep/agents"
import { scriptedModel } from "superstep/models"
import { filesystem, memory, think, todo } from "superstep/tools"

const call = (name: string, args: Json) => ({ name, args })

const model = scriptedModel([
  {
    tool_calls: [
      call("think", { thought: "The old notes first, then the new file." }),
      call("todo_write", { items: [{ text: "read the notes" }, { text: "write the minutes" }] }),
      call("read_file", { path: "notes.txt" }),
    ],
  },
  {
    tool_calls: [
      // A rule allows the first of these files; the other one needs approval.
      call("write_file", { path: "drafts/minutes.md", content: "# Minutes\n\nAda: yes. Bob: no.\n" }),
      call("memory_add", { text: "Minutes are written in Markdown." }),
      call("write_file", { path: "minutes.md", content: "# Minutes\n\nAda: yes. Bob: no.\n" }),
      call("todo_update", { ids: [1, 2], status: "done" }),
    ],
  },
  "The minutes are in minutes.md.",
])

export function secretary(folder: string) {
  return agent({
    name: "secretary",
    model,
    instructions: "You keep the minutes.",
    tools: [
      think(),
      todo(),
      memory({ file: join(folder, "memories.jsonl") }),
      filesystem({ root: folder, deny: ["memories.jsonl"] }),
    ],
    // If no rule matches, the tools' defaults apply: tools that write files ask.
    approval: { allow: ["write_file:path=drafts/*"], deny: ["write_file:path=notes.txt"] },
  })
}

if (import.meta.filename === process.argv[1]) {
  const folder = mkdtempSync(join(tmpdir(), "minutes-"))
  writeFileSync(join(folder, "notes.txt"), "Ada says yes, Bob says no.\n")
  const run = secretary(folder).run("Write the minutes.")
  for (const { id, prompt, data } of (await run).requests) {
    const { args } = data as { args: { path: string } }
    console.log(prompt, args.path)
    await run.respond(id, { approve: true })
  }
  console.log(...(await run).outputs)
  console.log(readFileSync(join(folder, "minutes.md"), "utf8").trim())
  rmSync(folder, { recursive: true })
}
