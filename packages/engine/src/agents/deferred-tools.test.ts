import { describe, expect, test } from "vitest"
import { scriptedModel } from "../models/script/scripted-model.ts"
import { type Tool, type Toolset, tool, toolsetWith } from "../tools/index.ts"
import { agent } from "./index.ts"
import { shown } from "./stand-ins.test-support.ts"

const named = (name: string, description: string): Tool =>
  tool({ name, description, run: () => `${name} done` })
const office: Toolset = {
  name: "office",
  tools: () => [
    named("send_mail", "Sends an e-mail to somebody."),
    named("book_room", "Books a meeting room."),
    named("read_clock", "Tells the time."),
  ],
}
const callOf = (name: string, args: object = {}) => ({ tool_calls: [{ name, args: args as never }] })
const offered = (model: ReturnType<typeof scriptedModel>, n: number) =>
  model.calls[n]?.options.tools?.map(({ name }) => name)

describe("deferred tools", () => {
  test("are hidden until the model has searched and added them", async () => {
    const model = scriptedModel([
      callOf("search_tool", { query: "meeting room" }),
      callOf("book_room"),
      callOf("add_tool", { name: "book_room" }),
      callOf("book_room"),
      "done",
    ])
    const x = agent({
      name: "x",
      model,
      tools: [toolsetWith(office, { defer: ["send_*", "book_*"] })],
    })
    expect((await x.run("go")).outputs).toEqual(["done"])
    const few = ["read_clock", "search_tool", "add_tool"]
    expect([0, 1, 2].map((n) => offered(model, n))).toEqual([few, few, few])
    expect(shown(model, 1).at(-1)).toContain("Books a meeting room.")
    expect(shown(model, 1).at(-1)).not.toContain("e-mail")
    // Called before it was added.
    expect(shown(model, 2).at(-1)).toContain('no tool \\"book_room\\"')
    expect(offered(model, 3)).toEqual(["book_room", ...few])
    expect(shown(model, 4).at(-1)).toContain("book_room done")
  })

  test("of a whole toolset; one whose adding was denied stays hidden", async () => {
    const model = scriptedModel([
      callOf("search_tool", { query: "xyz" }),
      callOf("add_tool", { name: "send_mail" }),
      callOf("add_tool", { name: "nothing" }),
      "done",
    ])
    const x = agent({
      name: "x",
      model,
      tools: [toolsetWith(office, { defer: true })],
      approval: { deny: ["add_tool:name=send_mail"] },
    })
    await x.run("go")
    expect(shown(model, 1).at(-1)).toContain('"names":["send_mail","book_room","read_clock"]')
    expect(shown(model, 2).at(-1)).toContain("not allowed")
    expect(shown(model, 3).at(-1)).toContain("are invalid")
    expect(offered(model, 3)).toEqual(["search_tool", "add_tool"])
  })
})
