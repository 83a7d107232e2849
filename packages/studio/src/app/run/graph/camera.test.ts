import { expect, test } from "vitest"
import { fitted, zoomed } from "./camera.ts"

test("a large drawing is fitted into the middle of the screen, a small one is not blown up", () => {
  const { x, y, zoom } = fitted({ width: 2_000, height: 400 }, { width: 1_000, height: 800 })
  expect(x).toBeGreaterThan(0)
  expect(2 * x + 2_000 * zoom).toBeCloseTo(1_000)
  expect(2 * y + 400 * zoom).toBeCloseTo(800)
  expect(fitted({ width: 120, height: 60 }, { width: 1_000, height: 800 }).zoom).toBe(1.1)
})

test("zooming keeps what is under the pointer, and stops at its limits", () => {
  const before = { x: 30, y: -20, zoom: 0.5 }
  const after = zoomed(before, 2, 200, 100)
  expect(after.zoom).toBe(1)
  expect((200 - after.x) / after.zoom).toBeCloseTo((200 - before.x) / before.zoom)
  expect((100 - after.y) / after.zoom).toBeCloseTo((100 - before.y) / before.zoom)
  expect(zoomed(before, 1_000, 0, 0).zoom).toBe(2)
  expect(zoomed(before, 0.0001, 0, 0).zoom).toBe(0.1)
})
