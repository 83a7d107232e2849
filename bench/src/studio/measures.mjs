// What is measured of the studio in Chromium. Times are those of the page: from the start of its navigation.
import { setTimeout as sleep } from "node:timers/promises"
import { median } from "../statistics.mjs"

/** A new page in a context of its own: nothing is cached. */
async function open(world, path, init) {
  const context = await world.browser.newContext({
    viewport: { width: 1440, height: 900 },
    locale: "en-US",
    reducedMotion: "reduce",
  })
  const page = await context.newPage()
  if (init !== undefined) await page.addInitScript(init)
  await page.goto(`${world.url}${path}`, { waitUntil: "commit" })
  return { page, close: () => context.close() }
}

/** Remembers when something that matches first was on the screen: two frames after it was there. */
const watchFor = (selector) => `
  window.seenAt = undefined
  const look = () => {
    if (document.querySelector(${JSON.stringify(selector)}) === null) requestAnimationFrame(look)
    else requestAnimationFrame(() => requestAnimationFrame(() => { window.seenAt = performance.now() }))
  }
  look()
`

async function seen(page) {
  return await until(page, "window.seenAt")
}

/** What an expression of the page becomes that is not undefined. The page's policy allows no function that waits inside. */
async function until(page, expression) {
  for (const end = performance.now() + 120_000; performance.now() < end; await sleep(20)) {
    const value = await page.evaluate(expression)
    if (value !== undefined && value !== false) return value
  }
  throw new Error(`The page never had ${expression}`)
}

async function rounds(count, measure) {
  const values = []
  for (let i = 0; i < count; i++) values.push(await measure())
  return { samples: values, median: median(values) }
}

/** The list of runs in a new browser context: files, data and rows. */
export async function firstPaint(world, { rounds: count, runs }) {
  for (let i = 0; i < runs; i++) await world.start("small", i).result
  return await rounds(count, async () => {
    const { page, close } = await open(world, "/runs", watchFor("[role=gridcell]"))
    const at = await seen(page)
    await close()
    return at
  })
}

/** From the last byte of the graph to the drawn nodes. */
export async function graph(world, { rounds: count }) {
  const run = world.start("wide", 1)
  await run.result
  return await rounds(count, async () => {
    const { page, close } = await open(world, `/runs/${run.id}`, watchFor("[data-node]"))
    const at = await seen(page)
    const data = await page.evaluate(`
      Math.max(...performance.getEntriesByType("resource")
        .filter(({ name }) => /\\/graph$|\\/view|run-.*\\.js$/.test(name)).map(({ responseEnd }) => responseEnd))
    `)
    await close()
    return at - data
  })
}

/** A run of many events: until its graph and its last event are on the screen, then dragging through all of it. */
export async function longRun(world, { rounds: count, frames }) {
  const run = world.start("long", 0)
  await run.result
  const opened = await rounds(count, async () => {
    const { page, close } = await open(world, `/runs/${run.id}`, watchFor("[data-node]"))
    const at = await seen(page)
    await close()
    return at
  })
  const { page, close } = await open(world, `/runs/${run.id}`, watchFor("[data-node]"))
  await seen(page)
  const scrubbed = await page.evaluate(
    `(async () => {
      const range = document.querySelector("input[type=range]")
      const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set
      const length = Number(range.max)
      const times = []
      for (let i = 0; i <= ${frames}; i++) {
        await new Promise((resolve) => requestAnimationFrame(resolve))
        times.push(performance.now())
        set.call(range, String(Math.round((length * ((i * 7) % ${frames})) / ${frames})))
        range.dispatchEvent(new Event("input", { bubbles: true }))
      }
      const took = times.slice(1).map((time, i) => time - times[i]).sort((a, b) => a - b)
      return { events: length, fps: 1000 * took.length / (times.at(-1) - times[0]), p95: took[Math.floor(took.length * 0.95)] }
    })()`,
  )
  await close()
  return { opened, scrubbed }
}

const longTasks = `
  window.longTasks = []
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) window.longTasks.push(duration)
  }).observe({ type: "longtask", buffered: true })
`

/** Tokens at full speed into a conversation that is on the screen. */
export async function tokens(world, { words }) {
  const run = world.start("loud", "Write.")
  const { page, close } = await open(world, `/runs/${run.id}?v=chat`, longTasks)
  await page.getByText("Write.").first().waitFor()
  await page.evaluate("window.longTasks.length = 0")
  const began = performance.now()
  world.gates.loud.open(1)
  // The reply is recorded, and stands where the live text was.
  await until(page, `document.querySelector("li[data-kind=agent]:not(:has([class*=writing]))") !== null`)
  const took = performance.now() - began
  const tasks = await page.evaluate("window.longTasks")
  await close()
  return { words, took, longest: Math.max(0, ...tasks), over: tasks.filter((task) => task > 50).length }
}

/** The heap of a page on a run that continues, after each of a few equal parts. */
export async function memory(world, { parts, steps }) {
  const run = world.start("live", 0)
  const { page, close } = await open(world, `/runs/${run.id}?v=events`)
  await page
    .getByRole("button", { name: "work, node", exact: false })
    .or(page.getByRole("region"))
    .first()
    .waitFor()
  const session = await page.context().newCDPSession(page)
  const heaps = []
  for (let part = 1; part <= parts; part++) {
    world.gates.live.open(steps)
    await until(page, `Number(document.querySelector("input[type=range]")?.max ?? 0) >= ${part * steps}`)
    await sleep(500)
    await session.send("HeapProfiler.collectGarbage")
    const { usedSize } = await session.send("Runtime.getHeapUsage")
    heaps.push(usedSize)
  }
  await close()
  const half = Math.ceil(parts / 2)
  return { events: parts * steps, heaps, growth: median(heaps.slice(-half)) / median(heaps.slice(0, half)) }
}
