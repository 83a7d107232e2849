/** What those who watch get to see of a reply that has secrets in it. */
import { expect, test } from "vitest"
import type { ModelReply, ReplyDelta } from "../models/index.ts"
import { tool } from "../tools/define-tool.ts"
import { LiveReply } from "./live-reply.ts"
import { Secrets } from "./secrets.ts"

const PIN = "4711-0815"
const door = tool({
  name: "door",
  description: "Opens it.",
  input: { jsonSchema: { type: "object", properties: { pin: { type: "string" } } } },
  secret: ["pin"],
  run: () => "open",
})
const tools = new Map([["door", door]])

function watching(secrets = new Secrets()) {
  const told: ReplyDelta[] = []
  const live = new LiveReply((delta) => told.push(delta), tools, secrets)
  const say = (kind: "text" | "reasoning", ...pieces: string[]) => {
    let offset = 0
    for (const text of pieces) {
      live.take({ kind, text, offset })
      offset += text.length
    }
  }
  const call = (...pieces: string[]) => {
    let offset = 0
    for (const text of pieces) {
      live.take({ kind: "tool", text, offset, tool: { id: "c1", name: "door" } })
      offset += text.length
    }
  }
  return { live, secrets, told, say, call }
}

const reply = (text: string): ModelReply => ({
  content: [
    { type: "text", text },
    { type: "tool-call", id: "c1", name: "door", args: JSON.stringify({ pin: PIN }) },
  ],
  finish: "tool-calls",
  model: "a/b",
  usage: {},
})

/** What is on the screen of someone who follows the offsets. */
function screen(told: readonly ReplyDelta[]): string {
  return told.reduce((text, delta) => text.slice(0, delta.offset) + delta.text, "")
}

test("a secret that was used before is masked as it comes, in one piece or several", () => {
  const { secrets, told, say } = watching()
  secrets.maskReply(reply(""), tools)
  say("text", "With 4711", "-0815 it ", "opened")
  expect(told).toEqual([
    { kind: "text", text: "With ", offset: 0 },
    { kind: "text", text: "[secret] it ", offset: 5 },
    { kind: "text", text: "opened", offset: 17 },
  ])
})

test("a secret is known from its call on, before the reply has come to its end", () => {
  const { told, say, call } = watching()
  call('{"pin":"4711', '-0815"}')
  say("reasoning", "I used 4711-0815.")
  expect(told).toEqual([{ kind: "reasoning", text: "I used [secret].", offset: 0 }])
})

test("what was said before the call came is taken back from the screen, and what was held back is told", () => {
  const { live, secrets, told, say, call } = watching()
  say("text", "I use ", PIN, " now. 47")
  call(JSON.stringify({ pin: PIN }))
  expect(screen(told)).toBe("I use 4711-0815 now. 47")
  live.end(secrets.maskReply(reply("I use 4711-0815 now. 47"), tools))
  expect(told.at(-1)).toEqual({ kind: "text", text: "[secret] now. 47", offset: 6 })
  expect(screen(told)).toBe("I use [secret] now. 47")
})

test("the end of a reply that could have been a secret is told when it is over", () => {
  const { live, secrets, told, say } = watching()
  secrets.maskReply(reply(""), tools)
  say("text", "room 4711")
  expect(screen(told)).toBe("room ")
  live.end(secrets.maskReply({ ...reply(""), content: [{ type: "text", text: "room 4711" }] }, tools))
  expect(screen(told)).toBe("room 4711")
})

test("a stream that is tried again starts over", () => {
  const { secrets, told, say } = watching()
  secrets.maskReply(reply(""), tools)
  say("text", "Half an ans", " 4711")
  say("text", "")
  expect(screen(told)).toBe("")
  say("text", "Whole.")
  expect(screen(told)).toBe("Whole.")
})
