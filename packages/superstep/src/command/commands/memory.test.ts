/** A definition whose agent remembers for whom it works, from the command line. */
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { superstep, testIo } from "../test-io.test-support.ts"

const FLOW = `agents:
  assistant:
    model: openai/gpt-5
    instruction: Be brief.
    toolsets: [{ type: memory, scope: user, embeddings: false }]
workflow:
  - { id: answer, type: agent, name: assistant, prompt: "{{ $input }}" }
`
const REMEMBER = `- tool_calls: [{ name: remember, args: { text: Ada prefers tea. } }]
- Noted.
`
const RECALL = `- tool_calls: [{ name: recall, args: { query: tea } }]
- Done.
`

const io = () => testIo({ files: { "flow.yaml": FLOW, "remember.yaml": REMEMBER, "recall.yaml": RECALL } })
const run = (script: string, ...more: string[]) => [
  "run",
  "flow.yaml",
  "x",
  "--model",
  `scripted:${script}`,
  ...more,
]

it("remembers for the user of --label, in the folder beside the file, and for no other user", async () => {
  const here = io()
  const label = (user: string) => ["--label", `user=${user}`]
  const events = async (id: string) => (await superstep(["runs", "events", id, "--json"], here)).stdout
  expect(await superstep(run("remember.yaml", ...label("ada"), "--run-id", "r"), here)).toMatchObject({
    code: 0,
  })
  expect(await events("r")).toContain('"key":"step:tool:remember:call_assistant_1_1","value":{"ok":true')
  const folder = join(here.cwd, ".superstep", "memories")
  expect(readdirSync(folder).filter((name) => name.endsWith(".db"))).toHaveLength(1)
  const ada = await superstep(run("recall.yaml", ...label("ada"), "--run-id", "a"), here)
  const eve = await superstep(run("recall.yaml", ...label("eve"), "--run-id", "e"), here)
  expect([ada.code, eve.code]).toEqual([0, 0])
  const journal = async (id: string) => (await superstep(["runs", "show", id, "--json"], here)).stdout
  expect(await journal("a")).toContain('"user":"ada"')
  expect(await events("a")).toContain("Ada prefers tea.")
  expect(await events("e")).not.toContain("Ada prefers tea.")
})

it("does not start without the label, and names the flag", async () => {
  const here = io()
  const { code, stderr } = await superstep(run("remember.yaml"), here)
  expect(code).toBe(1)
  expect(stderr.replace(/\s+/g, " ")).toContain("or with --label user=")
  expect(existsSync(join(here.cwd, ".superstep", "memories"))).toBe(false)
})

it("refuses reserved and invalid labels", async () => {
  for (const name of ["file", "model", "definition", "trust", "research", "research 2"]) {
    const { code, stderr } = await superstep(run("remember.yaml", "--label", `${name}=x`), io())
    expect([name, code]).toEqual([name, 2])
    expect(stderr).toContain("this name is reserved")
  }
  for (const text of ["user", "=ada", "user="]) {
    expect((await superstep(run("remember.yaml", "--label", text), io())).code).toBe(2)
  }
})

it("is refused in an untrusted file", async () => {
  const { code, stderr } = await superstep(["validate", "flow.yaml", "--untrusted"], io())
  expect(code).toBe(2)
  expect(stderr).toContain("Reads and writes what is remembered about people")
})
