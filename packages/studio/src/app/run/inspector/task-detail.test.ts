import type { RunEvent } from "@superstep/engine/protocol"
import { expect, test } from "vitest"
import { taskDetail } from "./task-detail.ts"

const about = { at: 1, path: [], task: 0, node: "draft" }
const reply = (content: readonly object[], finish: string) => ({ content, finish, model: "a/b", usage: {} })
const CALL = { type: "tool-call", id: "c1", name: "look", args: "{}" }

function eventsWith(details: readonly (object | undefined)[]): readonly RunEvent[] {
  return [
    { ...about, seq: 1, type: "task.started", input: "What is there?", attempt: 1, superstep: 1 },
    {
      ...about,
      seq: 2,
      type: "step.recorded",
      key: "model",
      value: reply([CALL], "tool-calls"),
      details: details[0],
    },
    { ...about, seq: 3, type: "step.recorded", key: "look:c1", value: "a stork" },
    {
      ...about,
      seq: 4,
      type: "step.recorded",
      key: "model#2",
      value: reply([], "stop"),
      details: details[1],
    },
  ] as unknown as readonly RunEvent[]
}

test("the request of a call is put together from its details and the records before it", () => {
  const { turns } = taskDetail(
    eventsWith([
      {
        request: { messages: 1, instructions: "Look.", temperature: 0 },
        response: { firstToken: 40, id: "r1" },
      },
      { request: { messages: 3 }, response: {} },
    ]),
  )
  expect(turns.map(({ firstToken }) => firstToken)).toEqual([40, undefined])
  expect(turns[0]?.request).toEqual({
    model: "a/b",
    instructions: "Look.",
    temperature: 0,
    messages: [{ role: "user", content: "What is there?" }],
  })
  expect(turns[0]?.response).toMatchObject({ id: "r1", finish: "tool-calls" })
  // Instructions are recorded when they change; results stand after the calls.
  expect(turns[1]?.request).toEqual({
    model: "a/b",
    instructions: "Look.",
    messages: [
      { role: "user", content: "What is there?" },
      { role: "assistant", content: [CALL] },
      { role: "tool", content: [{ id: "c1", result: "a stork" }] },
    ],
  })
})

test("a conversation that began elsewhere is counted, not invented; a journal without details is shown as it is", () => {
  const [, later] = taskDetail(eventsWith([undefined, { request: { messages: 9 }, response: {} }])).turns
  expect(later?.request).toEqual({ model: "a/b", messageCount: 9 })
  const [first] = taskDetail(eventsWith([])).turns
  expect(first?.request).toMatchObject({ messages: [{ role: "user", content: "What is there?" }] })
})
