/**
 * The slot of a task whose node has limits across processes. The task takes it before its handler is called, gives it back
 * when it ends or waits for something external, and takes it again to continue. A task that does not get it within a moment
 * frees the place that its run has in this process: others execute meanwhile.
 */
import type { NodeId, RunId, Task } from "../../core/index.ts"
import type { AskedSlot, SlotKeeper, SlotWish } from "../lease/slot-keeper.ts"
import type { Clock } from "../ports/clock.ts"
import type { LiveEvent } from "../ports/events.ts"
import { type NodeFlow, type NodeFlowRun, slotLanes, slotPriority } from "../ports/flow.ts"
import type { Program } from "../ports/program.ts"
import { queueScore } from "../ports/run-flow.ts"
import type { Activity } from "./activity.ts"

/** Milliseconds that a task keeps the place of its run while it waits for a slot. */
const KEEPS_PLACE = 1_000

/** The frame of a task, as its slot uses it. */
export interface SlotFrame {
  readonly host: {
    readonly runId: RunId
    readonly clock: Clock
    readonly activity: Pick<Activity, "changeSlotWaits" | "place">
    /** A handler of the node is called now. */
    enter(node: NodeId): void
  }
  readonly program: Pick<Program, "graph">
  emitLive(event: LiveEvent): void
}

export class TaskSlot {
  readonly #flow: NodeFlow
  readonly #slots: SlotKeeper
  readonly #frame: SlotFrame
  readonly #task: Task
  readonly #run: NodeFlowRun
  readonly #fail: (error: unknown) => void
  #asked: AskedSlot | undefined
  #waiting: { isResting: boolean; readonly cancel: () => void } | undefined
  /** It was taken before: it starts once, which is what rates count. */
  #hasStarted = false
  #then: (() => void)[] = []
  /** False while its handler waits for something external. */
  #isNeeded = true

  constructor(
    flow: NodeFlow,
    slots: SlotKeeper,
    frame: SlotFrame,
    task: Task,
    run: NodeFlowRun,
    fail: (error: unknown) => void,
  ) {
    this.#flow = flow
    this.#slots = slots
    this.#frame = frame
    this.#task = task
    this.#run = run
    this.#fail = fail
  }

  /** Calls back with the slot, and a place of the run: now, or when it has both. */
  take(then: () => void): void {
    this.#isNeeded = true
    this.#then.push(then)
    if (this.#then.length > 1) return
    if (this.#asked !== undefined) return this.#continue()
    let wish: SlotWish
    try {
      wish = this.#wish()
    } catch (error) {
      return this.#fail(error)
    }
    if (wish.lanes.length === 0) return this.#continue()
    const asked = this.#slots.take(wish, { onTaken: () => this.#taken(), onError: this.#fail })
    this.#asked = asked
    if (asked.isTaken) this.#continue()
    else this.#wait(wish)
  }

  #wish(): SlotWish {
    const { node, message, knownAt } = this.#task
    const { host, program } = this.#frame
    const lanes = slotLanes(node.id, this.#flow, message, this.#run, this.#hasStarted)
    // The time at which the task was created survives its process: so does its place in line.
    const score = queueScore(knownAt, { priority: slotPriority(node.id, this.#flow, message, this.#run) })
    return {
      pool: `${program.graph.name}/${node.id}`,
      lanes,
      score,
      by: { runId: host.runId, node: node.id },
    }
  }

  #wait({ pool, lanes }: SlotWish): void {
    const { clock, activity } = this.#frame.host
    const waiting = {
      isResting: false,
      cancel: clock.setTimer(clock.now() + KEEPS_PLACE, () => {
        waiting.isResting = true
        activity.changeSlotWaits(1)
      }),
    }
    this.#waiting = waiting
    const { id, node } = this.#task
    const names = lanes.map(({ name }) => name)
    this.#frame.emitLive({ type: "slot.waiting", task: id, node: node.id, pool, lanes: names })
  }

  #taken(): void {
    // Taken at once: `take` continues.
    if (this.#waiting === undefined) return
    const { isResting } = this.#waiting
    this.#stopWaiting()
    const { host } = this.#frame
    const place = isResting ? host.activity.place() : undefined
    host.enter(this.#task.node.id)
    if (place === undefined) this.#continue()
    else place.then(() => this.#continue())
  }

  #stopWaiting(): void {
    if (this.#waiting === undefined) return
    const { isResting, cancel } = this.#waiting
    this.#waiting = undefined
    cancel()
    if (isResting) this.#frame.host.activity.changeSlotWaits(-1)
  }

  #continue(): void {
    this.#hasStarted = true
    const callbacks = this.#then
    this.#then = []
    for (const callback of callbacks) callback()
  }

  /** Its handler waits for something external. */
  wait(): void {
    this.#isNeeded = false
    // What it is about to wait for may turn out not to be there.
    queueMicrotask(() => {
      if (!this.#isNeeded && this.#then.length === 0) this.#leave()
    })
  }

  /** Its handler waits for nothing after all. */
  stay(): void {
    this.#isNeeded = true
  }

  /** The task has ended. */
  end(): void {
    this.#then = []
    this.#leave()
  }

  #leave(): void {
    this.#stopWaiting()
    this.#asked?.leave()
    this.#asked = undefined
  }
}
