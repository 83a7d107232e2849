/** Everything that happened, in order: filtered by kind and text, with the raw event on demand. */
import type { RunEvent } from "@superstep/engine/protocol"
import { useVirtualizer } from "@tanstack/react-virtual"
import { useDeferredValue, useEffect, useMemo, useRef, useState } from "react"
import { Button } from "../ui/button.tsx"
import { ToggleChip } from "../ui/chip.tsx"
import { SearchInput } from "../ui/field.tsx"
import { count, exact, offset } from "../ui/format.ts"
import { JsonView } from "../ui/json-view.tsx"
import { Empty, Failure } from "../ui/states.tsx"
import { type EventGroup, eventWords, GROUPS, groupOf, typesOf } from "./event-words.ts"
import styles from "./events.module.css"
import { taskKey } from "./keys.ts"
import { useNames } from "./node-names.ts"
import type { RunViewProps } from "./run-view-props.ts"
import { useEventList, useEventWindow } from "./use-events.ts"

interface EventsProps extends RunViewProps {
  readonly setAt: (at: number) => void
}

const ROW = 28

export function Events({ run, history, version, point, selection, select, setAt }: EventsProps) {
  const [hidden, setHidden] = useState<ReadonlySet<EventGroup>>(new Set())
  const [typed, setText] = useState("")
  const text = useDeferredValue(typed.trim())
  const [open, setOpen] = useState<string>()
  const scroller = useRef<HTMLDivElement>(null)
  const isFiltered = hidden.size > 0 || text !== ""
  const filter = useMemo(
    () => ({
      text,
      types: hidden.size === 0 ? undefined : GROUPS.filter((one) => !hidden.has(one)).flatMap(typesOf),
    }),
    [hidden, text],
  )
  const list = useEventList(run, history, version, filter, isFiltered)
  const total = isFiltered ? list.events.length : history.length
  const virtual = useVirtualizer({
    count: total,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 16,
  })
  const items = virtual.getVirtualItems()
  const eventOf = useEventWindow(
    run,
    history,
    isFiltered ? 1 : (items[0]?.index ?? 0) + 1,
    isFiltered ? 0 : (items.at(-1)?.index ?? 0) + 1,
  )
  // biome-ignore lint/correctness/useExhaustiveDependencies: the number says when there are more log lines
  const logs = useMemo(() => bySeq(history.logs), [history, history.logged])
  const current = useMemo(
    () => (isFiltered ? list.events.findLastIndex(({ seq }) => seq <= point) : point - 1),
    [isFiltered, list.events, point],
  )
  // biome-ignore lint/correctness/useExhaustiveDependencies: only the point moves the list
  useEffect(() => {
    if (current >= 0) virtual.scrollToIndex(current, { align: "auto" })
  }, [current])
  const toggle = (group: EventGroup) => {
    const next = new Set(hidden)
    if (!next.delete(group)) next.add(group)
    setHidden(next)
  }
  return (
    <div className={styles.events}>
      <div className={styles.tools}>
        {GROUPS.map((group) => (
          <ToggleChip key={group} isOn={!hidden.has(group)} onToggle={() => toggle(group)}>
            {group}
          </ToggleChip>
        ))}
        <SearchInput
          label="Search events"
          placeholder="Search events"
          value={typed}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        {list.hasEarlier && isFiltered && <Button onClick={list.loadEarlier}>Show earlier ones</Button>}
        <span className={styles.count}>
          {count(total)}
          {isFiltered && list.hasEarlier ? "+" : ""}
        </span>
      </div>
      {isFiltered && list.error !== null ? (
        <Failure error={list.error} />
      ) : total === 0 ? (
        <Empty icon="filter" title={isFiltered && list.isLoading ? "Searching…" : "No event matches"} />
      ) : (
        <div ref={scroller} className={styles.scroller} tabIndex={0} role="region" aria-label="Events">
          <div style={{ height: virtual.getTotalSize(), position: "relative" }}>
            {items.map(({ index, start }) => {
              const event = isFiltered ? list.events[index] : eventOf(index + 1)
              const seq = event?.seq ?? index + 1
              return (
                <div
                  key={seq}
                  ref={virtual.measureElement}
                  data-index={index}
                  className={styles.item}
                  data-future={seq > point || undefined}
                  data-border={event?.type === "superstep.started" || undefined}
                  style={{ transform: `translateY(${start}px)` }}
                >
                  {event === undefined ? (
                    <div className={styles.row} aria-busy="true">
                      <span className={styles.seq}>{seq}</span>
                    </div>
                  ) : (
                    [event, ...(hidden.has("log") ? [] : (logs.get(seq) ?? []))].map((one, i) => (
                      <EventRow
                        // biome-ignore lint/suspicious/noArrayIndexKey: lines of a log are never removed
                        key={i}
                        event={one}
                        start={history.outline.startedAt}
                        isOpen={open === `${seq} ${i}`}
                        onToggle={() => setOpen(open === `${seq} ${i}` ? undefined : `${seq} ${i}`)}
                        selected={selection?.kind === "task" ? selection.key : undefined}
                        onInspect={(key) => select({ kind: "task", key })}
                        setAt={setAt}
                      />
                    ))
                  )}
                </div>
              )
            })}
          </div>
        </div>
      )}
    </div>
  )
}

interface EventRowProps {
  readonly event: RunEvent
  /** When the run started. */
  readonly start: number
  readonly isOpen: boolean
  readonly onToggle: () => void
  readonly selected: string | undefined
  readonly onInspect: (task: string) => void
  readonly setAt: (at: number) => void
}

function EventRow({ event, start, isOpen, onToggle, selected, onInspect, setAt }: EventRowProps) {
  const names = useNames()
  const task = "task" in event && typeof event.task === "number" ? taskKey(event.path, event.task) : undefined
  return (
    <div data-selected={(task !== undefined && selected === task) || undefined}>
      <button type="button" className={styles.row} aria-expanded={isOpen} onClick={onToggle}>
        <span className={styles.seq}>{event.seq}</span>
        <span className={styles.time} title={exact(event.at)}>
          +{offset(event.at - start)}
        </span>
        <span className={styles.type} data-group={groupOf(event)}>
          {event.type}
        </span>
        <span className={styles.node}>{names.ofEvent(event) ?? ""}</span>
        <span>{eventWords(event)}</span>
      </button>
      {isOpen && (
        <div className={styles.raw}>
          <div className={styles.actions}>
            <Button onClick={() => setAt(event.seq)}>Go to this point</Button>
            {task !== undefined && <Button onClick={() => onInspect(task)}>Inspect the task</Button>}
          </div>
          <JsonView value={event} name={`event-${event.seq}`} />
        </div>
      )}
    </div>
  )
}

/** Live events have the number of the journaled event before them, and are shown below it. */
function bySeq(logs: readonly RunEvent[]): ReadonlyMap<number, readonly RunEvent[]> {
  const found = new Map<number, RunEvent[]>()
  for (const log of logs) found.set(log.seq, [...(found.get(log.seq) ?? []), log])
  return found
}
