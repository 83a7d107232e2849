import { appendFileSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import type { Context } from "../runtime/index.ts"
import { callContext, toolNamed } from "./call-context.test-support.ts"
import { tasks } from "./tasks.ts"

let folder: string
let file: string
let calls = 0
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tasks-"))
  file = join(folder, "tasks.jsonl")
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

// biome-ignore lint/suspicious/noExplicitAny: tests read results of every shape.
async function use(name: string, args: object = {}, key = `call-${calls++}`): Promise<any> {
  const tool = await toolNamed(tasks({ file, maxTasks: 4 }), name)
  const parsed = await tool.parse(args)
  if (!parsed.ok) throw new Error(parsed.reason)
  const ctx = { clock: { now: () => calls } } as unknown as Context
  return await tool.run(parsed.args as never, callContext({ ctx, idempotencyKey: key }))
}
const titles = async (wanted: object = {}) =>
  (await use("list_tasks", wanted)).tasks.map(({ title }: { title: string }) => title)

test("the most important task that nothing blocks is next", async () => {
  const dig = await use("create_task", { title: "dig", priority: "low" })
  const pour = await use("create_task", { title: "pour", priority: "critical", dependencies: [dig.id] })
  await use("create_task", { title: "order", priority: "high" })
  expect(pour.status).toBe("blocked")
  expect(await titles()).toEqual(["order", "dig", "pour"])
  expect(await use("next_task")).toMatchObject({ title: "order" })

  await use("update_task", { id: dig.id, status: "done" })
  expect(await use("next_task")).toMatchObject({ title: "pour", status: "pending" })
  expect(await titles()).toEqual(["pour", "order", "dig"])
  expect(await titles({ status: "done" })).toEqual(["dig"])
})

test("a call that is made again after a crash is the same task", async () => {
  await use("create_task", { title: "dig" }, "same")
  await use("create_task", { title: "dig" }, "same")
  expect(await titles()).toEqual(["dig"])
})

test("dependencies exist, form no circle, and go with a deleted task", async () => {
  const a = await use("create_task", { title: "a" })
  const b = await use("create_task", { title: "b", dependencies: [a.id] })
  const circle = { task_id: a.id, depends_on_id: b.id }
  await expect(use("add_dependency", circle)).rejects.toMatchObject({ code: "TASK_CIRCLE" })
  await expect(use("add_dependency", { ...circle, depends_on_id: a.id })).rejects.toMatchObject({
    code: "TASK_CIRCLE",
  })
  await expect(use("create_task", { title: "c", dependencies: ["x"] })).rejects.toMatchObject({
    code: "TASK_NOT_LISTED",
  })
  await use("remove_dependency", { task_id: b.id, depends_on_id: a.id })
  await use("add_dependency", { task_id: b.id, depends_on_id: a.id })
  expect(await use("delete_task", { id: a.id })).toEqual({ id: a.id, removed: true })
  expect(await use("get_task", { id: b.id })).toMatchObject({ status: "pending", dependencies: [] })
})

test("the list is bounded, and ignores what is no task", async () => {
  for (const title of ["a", "b", "c", "d"]) await use("create_task", { title })
  await expect(use("create_task", { title: "e" })).rejects.toMatchObject({ code: "TASKS_FULL" })
  appendFileSync(file, `${JSON.stringify({ v: 1, id: "x", text: '{"title":1}', tags: [], at: 1 })}\n`)
  expect(await titles()).toHaveLength(4)
})
