/** What a definition that is sent to a server may use. */
import { loadDefinition, type TrustCapability } from "@superstep/engine/definitions"
import { expect, test } from "vitest"
import { submittedOptions } from "./submitted.ts"

const load = (toolset: string, ...allow: TrustCapability[]) =>
  loadDefinition(
    { file: "sent.yaml", text: `agents:\n  a: { model: offline, toolsets: [${toolset}] }` },
    submittedOptions(allow),
  )

test.each([
  ["{ type: shell }", "program"],
  ["{ type: script, shell: { a: { cmd: date } } }", "program"],
  ["{ type: filesystem }", "filesystem"],
  ["{ type: memory, path: notes.md }", "filesystem"],
  ["{ type: filesystem, root: / }", "filesystem"],
] as const)("%s needs %s to be allowed", (toolset, capability) => {
  const refused = load(toolset)
  expect(refused.definition).toBeUndefined()
  expect(refused.diagnostics.some(({ severity }) => severity === "error")).toBe(true)
  expect(load(toolset, capability)).toMatchObject({ definition: expect.anything(), diagnostics: [] })
})

test("a definition that is sent reads no file of the server", async () => {
  const text = "agents:\n  a: { model: offline, add_prompt_files: [package.json] }"
  const warningsWith = async (...allow: TrustCapability[]) => {
    const { definition } = loadDefinition({ file: "sent.yaml", text }, submittedOptions(allow))
    const warnings: string[] = []
    for await (const event of definition?.workflow.stream("Hello") ?? [])
      if (event.type === "log" && event.level === "warn") warnings.push(event.message)
    return warnings
  }
  expect(await warningsWith()).toEqual([expect.stringMatching(/package\.json.*does not exist|no such file/)])
  expect(await warningsWith("filesystem")).toEqual([])
})

test("a capability that cannot be allowed by itself is refused", () => {
  expect(() => submittedOptions(["environment" as "program"])).toThrow(
    expect.objectContaining({ code: "OPTION_INVALID" }),
  )
})
