import { describe, expect, test } from "vitest"
import { file, play } from "./steps.test-support.ts"

describe("steps one after another", () => {
  const sequential = file(
    ["generator", "translator", "publisher"],
    `
  - { type: agent, name: generator }
  - { type: agent, name: translator }
  - { type: agent, name: publisher }`,
  )

  test("each is given the outputs of those before it, then the user's prompt", async () => {
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

  test("a step without output is left out, and with nothing before there is no block", async () => {
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
