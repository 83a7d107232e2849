/** Agents with a memory of their user: who owns it, and what a model and a crash can do to it. */
import { memoryStore, type Store } from "@superstep/engine"
import { agent } from "@superstep/engine/agents"
import { type ScriptEntry, scriptedModel } from "@superstep/engine/models"
import { memory } from "@superstep/engine/tools"
import { describe, expect, test } from "vitest"
import { freshFolder } from "../index/index.test-support.ts"
import { memoryIndex } from "./memory-index.ts"

const call = (name: string, args: object) => ({ tool_calls: [{ name, args }] })

function assistant(folder: string, replies: readonly unknown[], scope: string | string[] = "user") {
  const model = scriptedModel({ assistant: replies as ScriptEntry[] })
  const index = memoryIndex(folder, { embeddings: false })
  return {
    model,
    agent: agent({ name: "assistant", model, tools: [memory({ index, scope })], stream: false }),
  }
}

/** The results of the agent's tools, in order. */
function results(model: ReturnType<typeof scriptedModel>): string {
  const prompt = model.calls.at(-1)?.prompt ?? []
  return JSON.stringify(prompt.filter(({ role }) => role === "tool"))
}

const remembered = (folder: string, labels: readonly (readonly [string, string])[]) =>
  memoryIndex(folder, { embeddings: false }).of(JSON.stringify(labels)).recall(undefined, { limit: 50 })

describe("an agent's memory", () => {
  test("belongs to the run's label, across runs", async () => {
    const folder = freshFolder()
    const fact = "Ada prefers tea."
    const first = assistant(folder, [call("remember", { text: fact }), "Noted."])
    await first.agent.run("I prefer tea.", { labels: { user: "ada" } })
    const second = assistant(folder, [call("recall", { query: "tea" }), "Tea."])
    await second.agent.run("What do I drink?", { labels: { user: "ada" } })
    expect(results(second.model)).toContain(fact)
    const other = assistant(folder, [call("recall", { query: "tea" }), call("recall", {}), "No idea."])
    await other.agent.run("What does Ada drink?", { labels: { user: "eve" } })
    expect(results(other.model)).not.toContain(fact)
    expect(results(other.model)).toContain('"memories":[]')
  })

  test("is not chosen by the model, whatever arguments it writes", async () => {
    const folder = freshFolder()
    await assistant(folder, [call("remember", { text: "Ada's PIN is 4711." }), "ok"]).agent.run("x", {
      labels: { user: "ada" },
    })
    const [mine] = await remembered(folder, [["user", "ada"]])
    const attempts = [
      { query: "PIN", user: "ada" },
      { query: "PIN", owner: "ada" },
      { query: "PIN", scope: "ada" },
      { query: "PIN", labels: { user: "ada" } },
      { query: "user:ada PIN" },
      { query: '["user","ada"]' },
    ]
    const eve = assistant(folder, [
      ...attempts.map((args) => call("recall", args)),
      call("forget", { id: mine?.id }),
      call("forget", { id: mine?.id, user: "ada" }),
      "Failed.",
    ])
    await eve.agent.run("I am Ada.", { labels: { user: "eve" } })
    expect(results(eve.model)).not.toContain("4711")
    expect(await remembered(folder, [["user", "ada"]])).toHaveLength(1)
  })

  test("requires the label: without it the model is not called", async () => {
    for (const labels of [{}, { user: "" }, { user: "  " }, { User: "ada" }, { tenant: "acme" }]) {
      const { agent: one, model } = assistant(freshFolder(), ["Hello."])
      const { error } = await one.run("Hi", { labels }).result
      expect(error).toMatchObject({
        code: "MEMORY_SCOPE_MISSING",
        message: expect.stringContaining('no label "user"'),
      })
      expect(model.calls).toHaveLength(0)
    }
    for (const scope of ["constructor", "__proto__", "toString"]) {
      const { error } = await assistant(freshFolder(), ["Hello."], scope).agent.run("Hi").result
      expect(error?.code).toBe("MEMORY_SCOPE_MISSING")
    }
  })

  test("of a user in a tenant is neither the tenant's, nor that of the same name elsewhere", async () => {
    const folder = freshFolder()
    const say = (text: string, scope: string | string[], labels: Record<string, string>) =>
      assistant(folder, [call("remember", { text }), "ok"], scope).agent.run("x", { labels })
    await say("One.", ["tenant", "user"], { tenant: "acme", user: "ada" })
    await say("Two.", ["tenant", "user"], { tenant: "ada", user: "acme" })
    await say("Three.", "tenant", { tenant: "acme", user: "ada" })
    await say("Four.", "user", { tenant: "acme", user: "acme" })
    const texts = async (...labels: [string, string][]) =>
      (await remembered(folder, labels)).map(({ text }) => text)
    expect(await texts(["tenant", "acme"], ["user", "ada"])).toEqual(["One."])
    expect(await texts(["tenant", "ada"], ["user", "acme"])).toEqual(["Two."])
    expect(await texts(["tenant", "acme"])).toEqual(["Three."])
    expect(await texts(["user", "acme"])).toEqual(["Four."])
  })

  test("has each memory once, and no forgotten one, wherever the process crashes", async () => {
    let deaths = 0
    for (let writes = 1; ; writes++) {
      const folder = freshFolder()
      const user = [["user", "ada"]] as const
      const replies = [
        call("remember", { text: "Ada prefers tea." }),
        call("remember", { text: "Ada prefers coffee." }),
        "Noted.",
      ]
      const store = memoryStore()
      const run = (store: Store, isFirst: boolean) => {
        const { agent: one } = assistant(folder, replies)
        return isFirst
          ? one.run("x", { store, runId: "r", labels: { user: "ada" } }).result
          : one.resume("r", { store, takeOver: true }).result
      }
      const isDead = await run(dying(store, writes), true).then(
        () => false,
        () => true,
      )
      // Meanwhile the person forgets the first one in another run.
      const index = memoryIndex(folder, { embeddings: false }).of(JSON.stringify(user))
      const tea = (await remembered(folder, user)).find(({ text }) => text.includes("tea"))
      if (tea !== undefined) await index.forget(tea.id)
      expect((await run(store, false)).outputs, `dead after ${writes} writes`).toEqual(["Noted."])
      const texts = (await remembered(folder, user)).map(({ text }) => text)
      expect(texts.filter((text) => text.includes("coffee"))).toHaveLength(1)
      expect(texts.filter((text) => text.includes("tea"))).toHaveLength(tea === undefined ? 1 : 0)
      if (!isDead) break
      deaths++
    }
    expect(deaths).toBeGreaterThan(4)
  })
})

/** Writes this many times, and then stops like a dead process. */
function dying(store: Store, writes: number): Store {
  let left = writes
  return {
    ...store,
    append(...args) {
      if (left-- <= 0) throw new Error("the process died")
      return store.append(...args)
    },
  }
}
