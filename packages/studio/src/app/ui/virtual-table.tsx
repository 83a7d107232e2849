/**
 * A table of any length: only the visible rows exist. Rows have one height, columns one grid, so that nothing shifts when data
 * arrives. Keys: ↑ ↓ move, Enter opens, Space selects.
 */
import { useVirtualizer } from "@tanstack/react-virtual"
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react"
import styles from "./virtual-table.module.css"

export interface Column<Row> {
  readonly id: string
  readonly title: string
  /** The title is for screen readers only. */
  readonly isTitleHidden?: boolean
  /** A track of the grid, such as "120px" or "minmax(160px, 1fr)". */
  readonly width: string
  readonly isNumber?: boolean
  /** Its width on narrow screens, if it has another one there. */
  readonly narrow?: string
  /** Not shown on narrow screens. */
  readonly isExtra?: boolean
  readonly cell: (row: Row) => ReactNode
}

interface VirtualTableProps<Row> {
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly idOf: (row: Row) => string
  readonly onOpen: (row: Row) => void
  readonly selected?: ReadonlySet<string>
  readonly onSelect?: (id: string) => void
  /** Called when the last rows are near. */
  readonly onEnd?: () => void
  readonly footer?: ReactNode
}

const ROW = 32

export function VirtualTable<Row>(props: VirtualTableProps<Row>) {
  const { label, columns, rows, idOf, onOpen, selected, onSelect, onEnd, footer } = props
  const scroller = useRef<HTMLDivElement>(null)
  const [active, setActive] = useState(0)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 12,
  })
  const items = virtual.getVirtualItems()
  const last = items.at(-1)?.index ?? 0
  const isNearEnd = last >= rows.length - 20
  // biome-ignore lint/correctness/useExhaustiveDependencies: more rows are a reason to look again
  useEffect(() => {
    if (isNearEnd) onEnd?.()
  }, [isNearEnd, rows.length])
  const onKey = (event: KeyboardEvent) => {
    const row = rows[active]
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const to = Math.max(0, Math.min(rows.length - 1, active + (event.key === "ArrowDown" ? 1 : -1)))
      setActive(to)
      virtual.scrollToIndex(to)
    } else if (event.key === "Enter" && row !== undefined) onOpen(row)
    else if (event.key === " " && row !== undefined && onSelect !== undefined) onSelect(idOf(row))
    else return
    event.preventDefault()
  }
  const tracks = columns.map(({ width }) => width).join(" ")
  const narrow = columns
    .filter(({ isExtra }) => isExtra !== true)
    .map(({ width, narrow: own }) => own ?? width)
    .join(" ")
  const first = items[0]
  const activeRow = rows[active]
  return (
    <div
      ref={scroller}
      role="grid"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      aria-activedescendant={activeRow === undefined ? undefined : rowId(idOf(activeRow))}
      tabIndex={0}
      className={styles.scroller}
      style={{ "--tracks": tracks, "--narrow": narrow } as object}
      onKeyDown={onKey}
    >
      <div role="row" aria-rowindex={1} className={`${styles.row} ${styles.head}`}>
        {columns.map(({ id, title, isTitleHidden, isNumber, isExtra }) => (
          <div key={id} role="columnheader" className={cellClass(isNumber, isExtra)}>
            {isTitleHidden === true ? <span className="visually-hidden">{title}</span> : title}
          </div>
        ))}
      </div>
      <div role="rowgroup" style={{ height: virtual.getTotalSize(), position: "relative" }}>
        <div role="presentation" style={{ transform: `translateY(${first?.start ?? 0}px)` }}>
          {items.map(({ index }) => {
            const row = rows[index] as Row
            const id = idOf(row)
            return (
              <div
                key={id}
                id={rowId(id)}
                role="row"
                aria-rowindex={index + 2}
                aria-selected={selected === undefined ? undefined : selected.has(id)}
                data-active={index === active || undefined}
                className={`${styles.row} ${styles.body}`}
                onClick={(event) => {
                  setActive(index)
                  // Links and boxes inside of a row do what they do anywhere.
                  if (!(event.target as Element).closest("a, button, input, label")) onOpen(row)
                }}
              >
                {columns.map(({ id: column, cell, isNumber, isExtra }) => (
                  <div key={column} role="gridcell" className={cellClass(isNumber, isExtra)}>
                    {cell(row)}
                  </div>
                ))}
              </div>
            )
          })}
        </div>
      </div>
      {footer}
    </div>
  )
}

function rowId(id: string): string {
  return `row-${id}`
}

function cellClass(isNumber = false, isExtra = false): string {
  return `${styles.cell} ${isNumber ? styles.number : ""} ${isExtra ? styles.extra : ""}`
}
