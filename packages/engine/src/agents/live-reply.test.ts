/** What watchers see of a reply with secrets. */
import { expect, test } from "vitest"
import type { ModelReply, ReplyDelta } from "../models/index.ts"
import { tool } from "../tools/index.ts"
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
  const sent: ReplyDelta[] = []
  const live = new LiveReply((delta) => sent.push(delta), tools, secrets)
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
  return { live, secrets, sent, say, call }
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

/** The text of a watcher that follows the offsets. */
function screen(sent: readonly ReplyDelta[]): string {
  return sent.reduce((text, delta) => text.slice(0, delta.offset) + delta.text, "")
}

test("a known secret is masked as it arrives, in one piece or several", () => {
  const { secrets, sent, say } = watching()
  secrets.maskReply(reply(""), tools)
  say("text", "With 4711", "-0815 it ", "opened")
  expect(sent).toEqual([
    { kind: "text", text: "With ", offset: 0 },
    { kind: "text", text: "[secret] it ", offset: 5 },
    { kind: "text", text: "opened", offset: 17 },
  ])
})

test("a secret is masked from its call on, before the reply is complete", () => {
  const { sent, say, call } = watching()
  call('{"pin":"4711', '-0815"}')
  say("reasoning", "I used 4711-0815.")
  expect(sent).toEqual([{ kind: "reasoning", text: "I used [secret].", offset: 0 }])
})

test("text that arrived before the call is retracted, and text that was held back is sent", () => {
  const { live, secrets, sent, say, call } = watching()
  say("text", "I use ", PIN, " now. 47")
  call(JSON.stringify({ pin: PIN }))
  expect(screen(sent)).toBe("I use 4711-0815 now. 47")
  live.end(secrets.maskReply(reply("I use 4711-0815 now. 47"), tools))
  expect(sent.at(-1)).toEqual({ kind: "text", text: "[secret] now. 47", offset: 6 })
  expect(screen(sent)).toBe("I use [secret] now. 47")
})

test("the end of a reply that could have been a secret is sent when the reply ends", () => {
  const { live, secrets, sent, say } = watching()
  secrets.maskReply(reply(""), tools)
  say("text", "room 4711")
  expect(screen(sent)).toBe("room ")
  live.end(secrets.maskReply({ ...reply(""), content: [{ type: "text", text: "room 4711" }] }, tools))
  expect(screen(sent)).toBe("room 4711")
})

test("a retried stream starts over", () => {
  const { secrets, sent, say } = watching()
  secrets.maskReply(reply(""), tools)
  say("text", "Half an ans", " 4711")
  say("text", "")
  expect(screen(sent)).toBe("")
  say("text", "Whole.")
  expect(screen(sent)).toBe("Whole.")
})
