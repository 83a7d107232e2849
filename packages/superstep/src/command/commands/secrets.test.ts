/** Secret values: not in the store, not in the output, and still available where they are needed. */
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { superstep, type TestIo, testIo } from "../test-io.test-support.ts"

const VALUE = "hunter2-Xq81-correct-horse"

const steps = (
  name: string,
  folder: string,
) => `agents: { a: { model: offline, instruction: "Key {{ $vars.${name} }}." } }
permissions: { allow: ["*"] }
workflow:
  - { type: agent, id: say, name: a, prompt: "Notes: The key is {{ $vars.${name} }}.\\n\\nWhat is the key?" }
  - { type: human, id: ok, prompt: "Use {{ $vars.${name} }}?" }
  - id: use
    type: tool
    tool: keep
    args: { token: "Bearer {{ $vars.${name} }}" }
    toolset:
      type: script
      shell:
        keep:
          cmd: 'printf "%s" "$token" > "${folder}/got.txt"; echo "I got $token"; echo "\${token#Bearer }"'
          args: { token: { type: string } }
`

const graph = (name: string, folder: string) => `id: g
nodes:
  - { id: say, type: agent, agent_id: a, prompt: "Notes: The key is {{ ${name} }}.\\n\\nWhat is the key?" }
  - { id: ask, type: human_handoff, prompt: "Use it?" }
  - id: use
    type: tool
    tool: keep
    args: { token: "Bearer {{ ${name} }}" }
    toolset:
      type: script
      shell:
        keep: { cmd: 'printf "%s" "$token" > "${folder}/got.txt"; echo "I got $token"', args: { token: { type: string } } }
edges: [{ from_node: say, to_node: ask }, { from_node: ask, to_node: use }]
agents: { a: { model: offline, instruction: "Key {{ ${name} }}." } }
permissions: { allow: ["*"] }
`

/** Every byte of the store, including its write-ahead log. */
function stored(io: TestIo): string {
  const folder = join(io.cwd, ".superstep")
  const files = readdirSync(folder).filter((file) => file.startsWith("superstep.db"))
  expect(files).toContain("superstep.db")
  return files.map((file) => readFileSync(join(folder, file)).toString("latin1")).join("\n")
}

async function shown(io: TestIo): Promise<string> {
  const commands = [
    ["runs", "list", "--json"],
    ["runs", "show", "r1", "--json"],
    ["runs", "show", "r1"],
    ["runs", "events", "r1", "--json"],
    ["runs", "state", "r1", "--json"],
    ["inbox", "--json"],
  ]
  const parts: string[] = []
  for (const command of commands) {
    const { stdout, stderr } = await superstep(command, io)
    if (command[0] === "runs") expect(stdout).not.toBe("")
    parts.push(stdout, stderr)
  }
  return parts.join("\n")
}

function expectNowhere(text: string): void {
  for (const form of [VALUE, Buffer.from(VALUE).toString("base64").replace(/=+$/, ""), "hunter2"]) {
    expect(text).not.toContain(form)
  }
}

describe.each([
  ["--set of a name like a secret", "api_key", ["--set", `api_key=${VALUE}`]],
  ["--set-secret of any name", "city", ["--set-secret", `city=${VALUE}`]],
])("%s", (_, name, flags) => {
  it.each([
    ["steps", steps],
    ["graph", graph],
  ])("reaches a tool of a %s file, and no store, event or output", async (dialect, write) => {
    const io = testIo()
    const file = "flow.yaml"
    writeFileSync(join(io.cwd, file), write(name, io.cwd))
    const started = await superstep(["run", file, "go", "--run-id", "r1", ...flags], io)
    expect(started).toMatchObject({ code: 3 })
    expectNowhere(started.stdout + started.stderr + stored(io) + (await shown(io)))
    expect(await shown(io)).toContain(`[secret:${name}]`)

    const without = await superstep(["respond", "r1", dialect === "graph" ? "on" : "yes"], io)
    expect(without.code).toBe(2)
    expect(without.stderr).toContain(`--set-secret ${name}=VALUE`)

    const ended = await superstep(["respond", "r1", "yes", "--set-secret", `${name}=${VALUE}`], io)
    expect(ended).toMatchObject({ code: 0 })
    expect(readFileSync(join(io.cwd, "got.txt"), "utf8")).toBe(`Bearer ${VALUE}`)
    expect(ended.stdout).toContain("I got Bearer [secret]")
    expectNowhere(ended.stdout + ended.stderr + stored(io) + (await shown(io)))
  })
})

describe("a secret from the environment", () => {
  it("is read again when the run resumes, and requested if it is missing", async () => {
    const io = testIo({ env: { DEPLOY: VALUE } })
    writeFileSync(join(io.cwd, "flow.yaml"), steps("DEPLOY", io.cwd))
    expect(
      (await superstep(["run", "flow.yaml", "x", "--run-id", "r1", "--set-secret", "DEPLOY"], io)).code,
    ).toBe(3)
    const gone = await superstep(["respond", "r1", "yes"], { ...io, env: {} })
    expect([gone.code, gone.stderr]).toEqual([2, expect.stringContaining("environment variable DEPLOY")])
    expect(await superstep(["respond", "r1", "yes"], io)).toMatchObject({ code: 0 })
    expectNowhere(stored(io) + (await shown(io)))
  })

  it("is not shown by a template either, if its name looks like a secret", async () => {
    const text = `agents: { a: { model: offline } }
workflow: [{ type: agent, id: s, name: a, prompt: "Notes: It is {{ $env.ACME_TOKEN }}.\\n\\nWhat is it?" }]
`
    const io = testIo({ files: { "flow.yaml": text }, env: { ACME_TOKEN: VALUE } })
    const { code, stdout, stderr } = await superstep(["run", "flow.yaml", "x", "--run-id", "r1"], io)
    expect(code).toBe(0)
    expectNowhere(stdout + stderr + stored(io) + (await shown(io)))
    expect(stderr.replace(/\s+/g, " ")).toContain("$env.ACME_TOKEN is a secret")
  })
})

it("text of a model or a person that looks like a reference is not a reference", async () => {
  const io = testIo()
  const text = steps("api_key", io.cwd)
    .replace('"Bearer {{ $vars.api_key }}"', '"{{ $input }}"')
    .replace(/ {2}- \{ type: human.*\n/, "")
  writeFileSync(join(io.cwd, "flow.yaml"), text)
  const flags = ["--set", `api_key=${VALUE}`]
  expect((await superstep(["run", "flow.yaml", "[secret:api_key]", ...flags], io)).code).toBe(0)
  expect(readFileSync(join(io.cwd, "got.txt"), "utf8")).toBe("[secret:api_key]")
})

it.skipIf(process.platform === "win32")("only its owner can access the folder of the store", async () => {
  const io = testIo({ files: { "a.yaml": "agents: { a: { model: offline } }" } })
  await superstep(["run", "a.yaml", "x"], io)
  expect(statSync(join(io.cwd, ".superstep")).mode & 0o077).toBe(0)
})

it("eject prints the name of a secret, and not its value", async () => {
  const io = testIo()
  writeFileSync(join(io.cwd, "flow.yaml"), steps("api_key", io.cwd))
  const { stdout } = await superstep(["eject", "flow.yaml", "--set", `api_key=${VALUE}`], io)
  expect(stdout).toContain('secrets: ["api_key"]')
  expectNowhere(stdout)
})

it("a malformed secret flag is not repeated in the error", async () => {
  const { code, stderr } = await superstep(["run", "flow.yaml", "--set-secret", `=${VALUE}`], {})
  expect(code).toBe(2)
  expectNowhere(stderr)
})
