import { describe, expect, test } from "vitest"
import { scriptedModel } from "../../models/index.ts"
import { manualClock, settled } from "../../testing/index.ts"
import { agentNode, chat, flow, load, play } from "./graph.test-support.ts"
import { repeatedCycle } from "./nodes/graph-node.ts"

const ROUND = chat(["A", "B"], ["A -> B", "B -> A"])
const WITH_PERSON = chat(["A", "B", "person"], ["A -> B", "B -> A"])

/** Every turn has a new message. */
const counting = (agent: string, turns = 40) => Array.from({ length: turns }, (_, i) => `${agent} ${i}`)
const TALK = { A: counting("A"), B: counting("B") }
const ECHO = { A: [{ text: "a", repeat: true as const }], B: [{ text: "b", repeat: true as const }] }

describe("the step limit", () => {
  test("is 15 visits; beyond it the run ends as `limit`, and keeps its state", async () => {
    const { status, error, visited, state } = await play(ROUND, TALK)
    expect(status).toBe("limit")
    expect(error).toMatchObject({ code: "STEP_LIMIT", message: "Execution exceeded max steps limit: 15" })
    expect(visited).toHaveLength(16)
    expect(state.messages).toHaveLength(16)
  })

  test.each([
    [{ limits: { maxSteps: 3 } }],
    [{ limits: { max_steps: 3 } }],
    [{ maxSteps: 3 }],
    [{ max_steps: 3 }],
  ])("is set by the definition: %j", async (more) => {
    const { error } = await play({ ...ROUND, ...more }, TALK)
    expect(error?.message).toBe("Execution exceeded max steps limit: 3")
  })

  test("is set by the caller", async () => {
    const { error } = await play(ROUND, TALK, "Go", { options: { maxSteps: 2 } })
    expect(error?.message).toBe("Execution exceeded max steps limit: 2")
  })

  test("is 1000 for graphs without a conversation, and counts concurrent visits", async () => {
    const nodes = [{ id: "start", type: "start" }, ...["a", "b", "c"].map((id) => agentNode(id))]
    const wide = flow(nodes, ["start -> a", "start -> b", "start -> c"], { limits: { max_steps: 3 } })
    const { status, error } = await play(wide, { "*": [{ text: "x", repeat: true }] })
    expect(status).toBe("limit")
    expect(error?.message).toBe("Execution exceeded max steps limit: 3")
    const enough = { ...wide, limits: { max_steps: 4 } }
    expect((await play(enough, { "*": [{ text: "x", repeat: true }] })).status).toBe("completed")
  })
})

describe("a run that repeats itself", () => {
  test("three times with the same results ends as `limit`, and names the nodes", async () => {
    const { status, error, visited } = await play(ROUND, ECHO)
    expect(status).toBe("limit")
    expect(error).toMatchObject({
      code: "CYCLE",
      message: "The run repeats itself: A → B → A, 3 times with the same results.",
    })
    expect(visited).toHaveLength(7)
  })

  test.each([
    ["aaa", "a"],
    ["ababab", "ab"],
    ["xabcabcabc", "abc"],
    ["abab", ""],
    ["aabaab", ""],
  ])("%s has the cycle %s", (trail, circle) => {
    const found = repeatedCycle([...trail].map((node) => ({ node, print: "" })))
    expect(found?.join("") ?? "").toBe(circle)
  })

  test("is detected in little time, however long the trail is", () => {
    const trail = Array.from({ length: 30_000 }, (_, i) => ({ node: "a", print: `${i}` }))
    let looks = 0
    const counted = new Proxy(trail, {
      get: (list, name) => {
        looks++
        return Reflect.get(list, name)
      },
    })
    expect(repeatedCycle(counted)).toBeUndefined()
    expect(looks).toBeLessThan(100_000)
  })

  test("is not repetition if a node has another result", () => {
    const prints = ["1", "1", "2"]
    expect(repeatedCycle(prints.map((print) => ({ node: "a", print })))).toBeUndefined()
  })
})

describe("a person", () => {
  /** Starts a run, and waits until it asks. */
  async function asking(graph = WITH_PERSON, script: object = TALK) {
    const model = scriptedModel(script as typeof TALK)
    const { workflow } = load(graph, { model: () => model, maxSteps: 3 })
    const run = workflow.run("Go")
    const waiting = await run
    expect(waiting.status).toBe("waiting")
    const [request] = waiting.requests
    if (request === undefined) throw new Error("nobody was asked")
    return { run, request, model }
  }

  test("is asked when the limit is reached, and sees the reason and the conversation", async () => {
    const { request } = await asking()
    expect(request.prompt).toBe("A person is needed: Execution exceeded max steps limit: 3")
    expect(request.data).toMatchObject({
      reason: { code: "STEP_LIMIT" },
      messages: [
        { role: "user", text: "Go" },
        { role: "assistant", text: "A 0" },
        { role: "assistant", text: "B 0" },
        { role: "assistant", text: "A 1" },
      ],
      routes: ["A", "B"],
    })
  })

  test("answers: the last agent continues, the count of visits restarts, and the next breach asks again", async () => {
    const { run, request, model } = await asking()
    await run.respond(request.id, "please be brief")
    const again = await run
    expect(again.status).toBe("waiting")
    expect(model.calls.map(({ agent }) => agent)).toEqual(["A", "B", "A", "A", "B", "A"])
    expect(JSON.stringify(model.calls[3]?.prompt)).toContain("please be brief")
  })

  test("names the agent to continue with", async () => {
    const { run, request, model } = await asking()
    await run.respond(request.id, { route: "B", message: "B, you do it" })
    await run
    expect(model.calls[3]?.agent).toBe("B")
  })

  test("ends the run, with or without a last message", async () => {
    const first = await asking()
    await first.run.respond(first.request.id, { end: true, message: "We call you back." })
    expect(await first.run).toMatchObject({ status: "completed", outputs: ["We call you back."] })
    const second = await asking()
    await second.run.respond(second.request.id, { end: true })
    expect(await second.run).toMatchObject({ status: "completed", outputs: ["A 1"] })
  })

  test("continues along the edge of the node, if there is one", async () => {
    const graph = chat(["A", "B", "C", "person"], ["A -> B", "B -> A", "person -> C"])
    const { run, request, model } = await asking(graph, { ...TALK, C: ["C does it"] })
    await run.respond(request.id, "continue")
    expect(await run).toMatchObject({ status: "completed", outputs: ["C does it"] })
    expect(model.calls.at(-1)?.agent).toBe("C")
  })

  test("cannot give an invalid answer", async () => {
    const { run, request } = await asking()
    await expect(run.respond(request.id, { route: "Nobody" })).rejects.toThrow()
  })

  test("is asked if an agent requests it, and if the run repeats itself", async () => {
    const chosen = chat(["A", "person"], ["A -person-> person"])
    const one = await asking(chosen, { A: [{ json: { next: "person", message: "I do not know." } }] })
    expect(one.request.prompt).toBe("An agent asks for a person.")
    const model = scriptedModel(ECHO)
    const { workflow } = load(WITH_PERSON, { model: () => model })
    const { requests } = await workflow.run("Go")
    expect(requests[0]?.prompt).toContain("The run repeats itself: A → B → A")
  })

  test("is also available under the name human_handoff", async () => {
    const graph = chat(["A", "B", "human_handoff"], ["A -> B", "B -> A"])
    const nodes = (graph.nodes as { id: string }[]).map((node) =>
      node.id === "human_handoff" ? { ...node, agentId: null } : node,
    )
    const { requests } = await load({ ...graph, nodes }, { model: () => scriptedModel(TALK) }).workflow.run(
      "Go",
    )
    expect(requests).toHaveLength(1)
  })
})

describe("the time limit of a run", () => {
  /** A model that never answers. */
  const slow = scriptedModel(
    { "*": [{ text: "late", delay: 1_000_000, repeat: true }] },
    { clock: manualClock() },
  )

  test("is 90 s; beyond it the run ends as `limit`", async () => {
    const clock = manualClock()
    const run = load(ROUND, { model: () => slow }).workflow.run("Go", { clock })
    await settled()
    await clock.advance(90_001)
    const { status, error, state } = await run.result
    expect(status).toBe("limit")
    expect(error?.message).toBe("The run's time is up.")
    expect(state.messages).toHaveLength(1)
  })

  test("is set by the definition and by the caller", async () => {
    const clock = manualClock()
    const shorter = load({ ...ROUND, limits: { timeoutSeconds: 5 } }, { model: () => slow }).workflow
    const [one, two] = [shorter.run("Go", { clock }), shorter.run("Go", { clock, timeout: 2_000 })]
    await settled()
    await clock.advance(2_001)
    expect((await two.result).status).toBe("limit")
    await clock.advance(3_000)
    expect((await one.result).status).toBe("limit")
  })

  test("asks the person, if there is one", async () => {
    const clock = manualClock()
    const run = load(WITH_PERSON, { model: () => slow }).workflow.run("Go", { clock })
    await settled()
    await clock.advance(90_001)
    const { status, requests } = await run
    expect(status).toBe("waiting")
    expect(requests[0]?.data).toMatchObject({ messages: [{ role: "user", text: "Go" }] })
    await run.respond(requests[0]?.id ?? "", { end: true, message: "Sorry." })
    expect(await run).toMatchObject({ status: "completed", outputs: ["Sorry."] })
  })
})
