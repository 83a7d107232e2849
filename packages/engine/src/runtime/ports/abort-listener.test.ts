import { expect, test } from "vitest"
import { onAbort } from "./abort-listener.ts"

test("all who listen are called in order, once, except those who left", () => {
  const controller = new AbortController()
  const { signal } = controller
  const called: string[] = []
  onAbort(signal, () => called.push("first"))
  const leave = onAbort(signal, () => called.push("left"))
  onAbort(signal, () => called.push("last"))
  leave()
  controller.abort()
  signal.dispatchEvent(new Event("abort"))
  expect(called).toEqual(["first", "last"])
})

test("a listener that leaves another one is not followed by it", () => {
  const controller = new AbortController()
  const called: string[] = []
  let leave = () => {}
  onAbort(controller.signal, () => leave())
  leave = onAbort(controller.signal, () => called.push("left"))
  controller.abort()
  expect(called).toEqual([])
})

test("a signal that many calls listen to has one native listener", () => {
  const { signal } = new AbortController()
  let added = 0
  const add = signal.addEventListener.bind(signal)
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    added++
    add(...args)
  }
  for (let call = 0; call < 100; call++) onAbort(signal, () => {})()
  expect(added).toBe(1)
})
