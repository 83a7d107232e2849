import { isProxy } from "node:util/types"
import { metrics, trace } from "@opentelemetry/api"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { agent } from "../agents/index.ts"
import { pureModel } from "../agents/stand-ins.test-support.ts"
import { memoryStore, node, setTelemetry, workflow } from "../index.ts"
import { type Recorder, recorder } from "./recorder.test-support.ts"
import { telemetry } from "./telemetry.ts"

const build = () =>
  workflow("w")
    .chain(
      node("a", (value: number) => value),
      node("b", (value: number) => value),
    )
    .build()

describe("telemetry is off", () => {
  let recorded: Recorder
  beforeEach(() => {
    recorded = recorder()
    trace.setGlobalTracerProvider(recorded.provider)
    metrics.setGlobalMeterProvider(recorded.meters)
  })
  afterEach(() => {
    setTelemetry(undefined)
    trace.disable()
    metrics.disable()
  })

  it("until it is set, even if the SDK is installed", async () => {
    await build().run(1)
    expect(recorded.spans()).toEqual([])
    expect(await recorded.points("superstep.runs")).toEqual([])
  })

  it("for runs that start after it was unset", async () => {
    const built = build()
    setTelemetry(telemetry())
    await built.run(1)
    expect(recorded.spans("workflow.run")).toHaveLength(1)
    expect(await recorded.points("superstep.runs")).toMatchObject([{ value: 1 }])
    setTelemetry(undefined)
    await built.run(1)
    expect(recorded.spans("workflow.run")).toHaveLength(1)
  })

  it("for a run with its own telemetry", async () => {
    const own = recorder()
    setTelemetry(telemetry())
    const built = build()
    await built.run(1, { telemetry: telemetry({ tracer: own.tracer, meter: own.meter }) })
    expect(recorded.spans("workflow.run")).toEqual([])
    expect(own.spans("workflow.run")).toHaveLength(1)
  })
})

describe("an agent's work is not wrapped", () => {
  /** Whether the model was copied, and whether the agent's context is wrapped. */
  async function seen(options: { telemetry?: ReturnType<typeof telemetry> }) {
    const plain = pureModel(() => "Hello.")
    let copied = false
    let wrapped: boolean | undefined
    const model = {
      ...plain,
      get supportedUrls() {
        copied = true
        return {}
      },
    }
    const greeter = agent({
      name: "greeter",
      model,
      instructions: (_, ctx) => {
        wrapped = isProxy(ctx)
        return "Be kind."
      },
    })
    await greeter.run("Hello?", options)
    return { copied, wrapped }
  }

  it("while telemetry is off: the model is called directly, in the task's own context", async () => {
    expect(await seen({})).toEqual({ copied: false, wrapped: false })
  })

  it("but it is while telemetry is on", async () => {
    expect(await seen({ telemetry: telemetry() })).toEqual({ copied: true, wrapped: true })
  })
})

it("the global providers may be set after telemetry was", async () => {
  setTelemetry(telemetry())
  const recorded = recorder()
  trace.setGlobalTracerProvider(recorded.provider)
  metrics.setGlobalMeterProvider(recorded.meters)
  try {
    await build().run(1)
    expect(recorded.spans("workflow.run")).toHaveLength(1)
    expect(await recorded.points("superstep.runs")).toMatchObject([{ value: 1 }])
  } finally {
    setTelemetry(undefined)
    trace.disable()
    metrics.disable()
  }
})

it("without an SDK a run works as usual, and journals no trace", async () => {
  const store = memoryStore()
  const { outputs } = await build().run(1, { store, runId: "r", telemetry: telemetry() })
  expect(outputs).toEqual([1])
  const entries = (await store.read("r", 0)).map(({ entry }) => entry)
  expect(entries.length).toBeGreaterThan(1)
  expect(entries.filter((entry) => (entry as { trace?: string }).trace !== undefined)).toEqual([])
})
