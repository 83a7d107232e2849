import { describe, expect, test } from "vitest"
import { scriptedModel } from "../../models/index.ts"
import { file, load, play } from "./steps.test-support.ts"

describe("sequential steps", () => {
  const sequential = file(
    ["generator", "translator", "publisher"],
    `
  - { type: agent, name: generator }
  - { type: agent, name: translator }
  - { type: agent, name: publisher }`,
  )

  test("each receives the outputs of earlier steps, then the user's prompt", async () => {
    const { status, outputs, agents, prompts } = await play(
      sequential,
      { generator: ["a draft"], translator: ["ein Entwurf"], publisher: ["published"] },
      "Write about tea",
    )
    expect(status).toBe("completed")
    expect(outputs).toEqual(["published"])
    expect(agents).toEqual(["generator", "translator", "publisher"])
    expect(prompts[0]).toBe("Write about tea")
    expect(prompts[1]).toBe(`--- Prior Step Outputs ---

[generator (agent: generator)]:
a draft

--- End Prior Step Outputs ---

Write about tea`)
    expect(prompts[2]).toBe(`--- Prior Step Outputs ---

[generator (agent: generator)]:
a draft

[translator (agent: translator)]:
ein Entwurf

--- End Prior Step Outputs ---

Write about tea`)
  })

  test("a step has its agent's name, a second one a number too", async () => {
    const text = file(
      ["a", "b"],
      `
  - { type: agent, name: a }
  - { type: agent, name: a }
  - { id: a_3, type: agent, name: b }
  - { type: condition, condition: "true", true: [{ type: agent, name: a, loop: false }] }
  - { type: agent, name: b }`,
    )
    const { prompts } = await play(text, { a: ["1", "2", "4"], b: ["3", "end"] })
    const ids = [...(prompts.at(-1) as string).matchAll(/^\[(.*) \(/gm)].map(([, id]) => id)
    expect(ids).toEqual(["a", "a_2", "a_3", "a_4"])
  })

  test("each has its own conversation", async () => {
    const text = file(["a"], "\n  - { type: agent, name: a }\n  - { type: agent, name: a }")
    const model = scriptedModel({ a: ["one", "two"] })
    await load(text, { model }).workflow.run("Go")
    expect(model.calls.map(({ prompt }) => prompt.map(({ role }) => role))).toEqual([["user"], ["user"]])
  })

  test("a step without output is omitted, and without earlier outputs there is no block", async () => {
    const { prompts } = await play(sequential, {
      generator: [{ text: "" }],
      translator: ["b"],
      publisher: ["c"],
    })
    expect(prompts[1]).toBe("Go")
    expect(prompts[2]).toContain("[translator (agent: translator)]:\nb\n\n--- End")
    expect(prompts[2]).not.toContain("generator")
  })
})
