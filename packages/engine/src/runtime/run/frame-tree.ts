/**
 * The workflows of a run: a sub-workflow hangs below the frame whose task called it, under the last part of its key. A whole
 * key is as long as the call is deep, so a lookup by whole keys would make deep calls slow.
 */
import { putEntry, removeEntry } from "../../core/internal.ts"
import { pathPart } from "../journal/journal-fold.ts"
import type { Call } from "./task-calls.ts"

/** A frame that has sub-workflows below it. */
interface TreeFrame<Frame> {
  below: ReadonlyMap<string, Frame>
}

/** A call, with the frame whose task made it. */
interface CallFrom<Frame> extends Call {
  readonly frame: Frame
}

export function attachFrame<Frame extends TreeFrame<Frame>>(frame: Frame, caller: CallFrom<Frame>): void {
  caller.frame.below = putEntry(caller.frame.below, caller.part, frame)
}

export function detachFrame({ frame, part }: CallFrom<TreeFrame<unknown>>): void {
  removeEntry(frame.below, part)
}

export function frameAt<Frame extends TreeFrame<Frame>>(
  root: Frame | undefined,
  key: string,
): Frame | undefined {
  if (key === "") return root
  let frame = root
  for (const part of key.split("/")) frame = frame?.below.get(part)
  return frame
}

const ROOT: readonly string[] = Object.freeze([])

export function framePath(
  caller: CallFrom<{ readonly path: readonly string[] }> | undefined,
): readonly string[] {
  if (caller === undefined) return ROOT
  return Object.freeze([...caller.frame.path, pathPart(caller.node, caller.task, caller.number)])
}
