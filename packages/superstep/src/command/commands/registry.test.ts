import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Runtime } from "@superstep/engine"
import { describe, expect, test } from "vitest"
import { parse } from "yaml"
import { superstep, type TestIo, testIo } from "../test-io.test-support.ts"
import { openFile } from "./stored-runs.test-support.ts"

const row = { workflowId: "desk" }
const desk = {
  id: "desk",
  name: "Desk",
  isConversational: false,
  entrypointNodeId: "first",
  nodes: [
    { id: "first", ...row, nodeType: "AGENT", nodeName: "first", agentId: "clerk" },
    { id: "second", ...row, nodeType: "AGENT", nodeName: "second", agentId: "boss" },
  ],
  edges: [
    {
      id: "on",
      ...row,
      sourceNodeId: "first",
      targetNodeId: "second",
      conditionType: "ALWAYS",
      conditionValue: null,
    },
    {
      id: "end",
      ...row,
      sourceNodeId: "second",
      targetNodeId: null,
      conditionType: "ALWAYS",
      conditionValue: null,
    },
  ],
}
const agents = `agents:
  clerk: { model: offline, instruction: Answer. }
  boss: { model: fast, instruction: Judge. }
models:
  fast: { provider: offline, model: offline }
`

function office(): TestIo {
  return testIo({ files: { "desk.json": JSON.stringify(desk), "agents.yaml": agents } })
}

function change(io: TestIo, edit: (text: string) => string): void {
  const file = join(io.cwd, "desk.json")
  writeFileSync(file, edit(readFileSync(file, "utf8")))
}

describe("apply", () => {
  test("stores a graph and its agents; a second time changes nothing", async () => {
    const io = office()
    const first = await superstep(["apply", "desk.json", "--agents", "agents.yaml"], io)
    expect(first).toMatchObject({
      code: 0,
      stdout: "created agent clerk\ncreated agent boss\ncreated workflow desk\n",
    })
    const second = await superstep(["apply", "desk.json", "--agents", "agents.yaml", "--json"], io)
    expect(
      second.stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line).outcome),
    ).toEqual(["unchanged", "unchanged", "unchanged"])
    expect((await superstep(["run", "desk", "hello", "--quiet"], io)).code).toBe(0)
  })

  test("an agent of the store keeps its whole model configuration, and the permissions of its file", async () => {
    const file = `agents:
  clerk: { model: "fast, slow", instruction: Answer., fallback: { models: [house/small] } }
  boss: { model: offline, instruction: Judge. }
models:
  fast: { provider: house, model: big, temperature: 0.2, max_tokens: 900, routing: [{ model: slow, examples: [think] }] }
  slow: { provider: openai, model: gpt-5, thinking_budget: high }
  other: { provider: openai, model: gpt-4 }
providers:
  house: { base_url: "http://localhost:9/v1", token_key: HOUSE_KEY }
permissions: { deny: ["shell"] }
`
    const io = testIo({ files: { "desk.json": JSON.stringify(desk), "agents.yaml": file } })
    expect((await superstep(["apply", "desk.json", "--agents", "agents.yaml"], io)).code).toBe(0)
    const clerk = JSON.parse((await superstep(["export", "clerk"], io)).stdout).agents.clerk
    const written = parse(file)
    expect(clerk).toEqual({
      model: "fast, slow",
      instruction: "Answer.",
      fallback: { models: ["house/small"] },
      permissions: { deny: ["shell"] },
      models: { fast: written.models.fast, slow: written.models.slow },
      providers: written.providers,
    })
    // The same calls as a definition that has everything in one file.
    const whole = { ...desk, ...written }
    writeFileSync(join(io.cwd, "whole.json"), JSON.stringify(whole))
    const code = async (name: string) =>
      (await superstep(["eject", name], io)).stdout.replace(/^\/\/.*\n/, "")
    expect(await code("whole.json")).toContain("temperature: 0.2")
    expect(await code("desk")).toBe(await code("whole.json"))
  })

  test("a graph may use an agent of another graph, with the models of that graph", async () => {
    const io = office()
    const shared = { ...parse(agents), ...desk, id: "desk" }
    const rows = JSON.stringify(desk).replaceAll('"desk"', '"second"')
    writeFileSync(join(io.cwd, "desk.json"), JSON.stringify(shared))
    writeFileSync(join(io.cwd, "second.json"), rows)
    expect((await superstep(["apply", "desk.json"], io)).code).toBe(0)
    expect(await superstep(["apply", "second.json"], io)).toMatchObject({
      code: 0,
      stdout: "created workflow second\n",
    })
    expect((await superstep(["run", "second", "hello", "--quiet"], io)).code).toBe(0)
  })

  test("a graph may use agents in the store", async () => {
    const io = office()
    expect(await superstep(["apply", "desk.json"], io)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("Agent clerk referenced by node first does not exist"),
    })
    expect((await superstep(["apply", "agents.yaml"], io)).stdout).toBe(
      "created agent clerk\ncreated agent boss\n",
    )
    expect(await superstep(["apply", "desk.json"], io)).toMatchObject({
      code: 0,
      stdout: "created workflow desk\n",
    })
  })

  test("a graph may use agents of another file of the same command, in any order", async () => {
    const io = office()
    expect(await superstep(["apply", "desk.json", "agents.yaml"], io)).toMatchObject({
      code: 0,
      stdout: "created agent clerk\ncreated agent boss\ncreated workflow desk\n",
    })
    expect((await superstep(["apply", "agents.yaml", "desk.json"], io)).stdout).toBe(
      "unchanged agent clerk\nunchanged agent boss\nunchanged workflow desk\n",
    )
  })

  test("one invalid file prevents all of them from being stored", async () => {
    const io = office()
    writeFileSync(join(io.cwd, "bad.json"), '{ "nodes": [')
    expect(await superstep(["apply", "agents.yaml", "bad.json"], io)).toMatchObject({ code: 2, stdout: "" })
    expect((await superstep(["export", "clerk"], io)).code).toBe(2)
  })

  test("steps are not stored", async () => {
    const io = office()
    writeFileSync(join(io.cwd, "steps.yaml"), `${agents}workflow:\n  - { type: agent, name: clerk }\n`)
    expect(await superstep(["apply", "steps.yaml"], io)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("steps.yaml has steps"),
    })
  })
})

describe("diff", () => {
  test("prints what apply would change, with exit code 1; without changes, 0", async () => {
    const io = office()
    await superstep(["apply", "desk.json", "--agents", "agents.yaml"], io)
    expect(await superstep(["diff", "desk.json"], io)).toEqual({
      code: 0,
      stdout: "",
      stderr: "desk.json matches the store.\n",
    })
    change(io, (text) => text.replace('"name":"Desk"', '"name":"Front desk"'))
    expect(await superstep(["diff", "desk.json"], io)).toMatchObject({
      code: 1,
      stdout: '~ workflow "desk" changed: name "Desk" → "Front desk"\n',
    })
    const applied = await superstep(["apply", "desk.json"], io)
    expect(applied.stdout).toBe(
      'changed workflow desk\n  ~ workflow "desk" changed: name "Desk" → "Front desk"\n',
    )
    expect((await superstep(["diff", "desk.json", "--agents", "agents.yaml"], io)).code).toBe(0)
    writeFileSync(join(io.cwd, "agents.yaml"), agents.replace("Judge.", "Judge well."))
    const changed = await superstep(["diff", "desk.json", "--agents", "agents.yaml"], io)
    expect(changed.code).toBe(1)
    expect(changed.stdout).toMatch(/^~ agent "boss" changed: .*"Judge\." → "Judge well\."\n$/s)
    writeFileSync(join(io.cwd, "agents.yaml"), agents)
    const agent = await superstep(["diff", "agents.yaml", "--json"], io)
    expect(agent).toMatchObject({ code: 0, stdout: "" })
  })
})

describe("export", () => {
  test("prints the original document, as JSON or as YAML that can be applied", async () => {
    const io = office()
    await superstep(["apply", "desk.json", "--agents", "agents.yaml"], io)
    const { stdout } = await superstep(["export", "desk"], io)
    expect(JSON.parse(stdout)).toEqual(desk)
    expect(JSON.stringify(JSON.parse(stdout))).toBe(JSON.stringify(desk))
    const yaml = await superstep(["export", "desk", "--format", "yaml"], io)
    writeFileSync(join(io.cwd, "desk.yaml"), yaml.stdout)
    expect((await superstep(["diff", "desk.yaml"], io)).code).toBe(0)
    const agent = await superstep(["export", "boss", "--format", "yaml"], io)
    expect(agent.stdout).toContain(
      "model: fast\n    instruction: Judge.\n    models:\n      fast:\n        provider: offline",
    )
  })

  test("for an unknown id lists those in the store", async () => {
    const io = office()
    await superstep(["apply", "agents.yaml"], io)
    const { code, stderr } = await superstep(["export", "nope"], io)
    expect(code).toBe(2)
    expect(stderr.replace(/\s+/g, " ")).toContain('or agent "nope". Its agents: clerk, boss.')
  })
})

describe("delete", () => {
  test("deletes definitions and agents, but not while they are used", async () => {
    const io = office()
    await superstep(["apply", "desk.json", "--agents", "agents.yaml"], io)
    expect(await superstep(["delete", "boss"], io)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Agent "boss" is used by "desk"'),
    })
    expect(await superstep(["delete", "desk"], io)).toEqual({
      code: 0,
      stdout: "",
      stderr: "Deleted desk.\n",
    })
    expect((await superstep(["delete", "boss"], io)).stderr).toBe("Deleted agent boss.\n")
    expect((await superstep(["delete", "desk"], io)).code).toBe(2)
  })

  test("is refused while runs are unfinished, unless it is forced", async () => {
    const io = office()
    await superstep(["apply", "desk.json", "--agents", "agents.yaml"], io)
    const { node, workflow } = await import("@superstep/engine")
    const waiting = workflow("desk")
      .start(node("ask", (_: string, ctx) => ctx.ask<string>("Continue?")))
      .build()
    const store = openFile(io)
    const runtime = new Runtime({ store, workflows: [waiting] })
    await runtime.start(waiting, "x")
    await runtime.close()
    await store.close()
    expect(await superstep(["delete", "desk"], io)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("has 1 active run"),
    })
    expect(await superstep(["delete", "desk", "--force"], io)).toEqual({
      code: 0,
      stdout: "",
      stderr: "Deleted desk.\n  1 unfinished run cannot continue.\n",
    })
  })
})
