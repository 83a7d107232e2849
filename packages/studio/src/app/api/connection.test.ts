import { expect, test } from "vitest"
import { answering, isOutage, onReturn, watched } from "./connection.ts"

const answered = () => Promise.resolve(new Response("{}"))
const lost = () => Promise.reject(new TypeError("Failed to fetch"))

test("one lost request, or several that were on their way together, is no outage; one that began later is", async () => {
  const together = [watched(lost), watched(lost), watched(lost)]
  await Promise.allSettled(together)
  expect(isOutage()).toBe(false)
  await watched(answered)
  expect(isOutage()).toBe(false)

  await expect(watched(lost)).rejects.toThrow("Failed to fetch")
  await expect(watched(lost)).rejects.toThrow("Failed to fetch")
  expect(isOutage()).toBe(true)
  await watched(answered)
  expect(isOutage()).toBe(false)
  // A proxy answers in the place of the server.
  for (const status of [502, 504]) await watched(() => Promise.resolve(new Response("", { status })))
  expect(isOutage()).toBe(true)
  await watched(answered)
})

test("what was lost is asked for again as soon as anything is answered, and an aborted request says nothing", async () => {
  let returns = 0
  const end = onReturn(() => returns++)
  const aborter = new AbortController()
  aborter.abort()
  for (let i = 0; i < 2; i++) await watched(lost, aborter.signal).catch(() => undefined)
  await answering(new AbortController().signal)
  await watched(answered)
  expect(returns).toBe(0)

  await watched(lost).catch(() => undefined)
  const back = answering(new AbortController().signal)
  await watched(answered)
  await back
  expect(returns).toBe(1)
  end()
})
