/** Tabs over one panel, moved with the arrow keys. The chosen one is the caller's, usually from the address. */
import { type KeyboardEvent, type ReactNode, useEffect, useRef } from "react"
import styles from "./tabs.module.css"

interface Tab<Id extends string> {
  readonly id: Id
  readonly label: string
  readonly count?: number | undefined
}

interface TabsProps<Id extends string> {
  readonly label: string
  readonly tabs: readonly Tab<Id>[]
  readonly selected: Id
  readonly onSelect: (id: Id) => void
  /** Fills the place at the end of the row. */
  readonly children?: ReactNode
}

export function Tabs<Id extends string>({ label, tabs, selected, onSelect, children }: TabsProps<Id>) {
  const list = useRef<HTMLDivElement>(null)
  // In a narrow window the row scrolls. Nothing else does: the page stays where it is.
  useEffect(() => {
    const row = list.current
    const tab = row?.querySelector<HTMLElement>(`[data-tab="${selected}"]`)
    if (row === null || tab === null || tab === undefined) return
    const end = tab.offsetLeft - row.offsetLeft + tab.offsetWidth
    if (end > row.scrollLeft + row.clientWidth) row.scrollLeft = end - row.clientWidth
  }, [selected])
  const move = (event: KeyboardEvent<HTMLElement>) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0
    if (step === 0) return
    event.preventDefault()
    event.stopPropagation()
    const at = tabs.findIndex(({ id }) => id === selected)
    const next = tabs[(at + step + tabs.length) % tabs.length]
    if (next === undefined) return
    onSelect(next.id)
    event.currentTarget.querySelector<HTMLElement>(`[data-tab="${next.id}"]`)?.focus()
  }
  return (
    <div className={styles.bar}>
      <div
        ref={list}
        role="tablist"
        aria-label={label}
        className={styles.list}
        onKeyDown={move}
        tabIndex={-1}
      >
        {tabs.map(({ id, label: text, count }) => (
          <button
            key={id}
            type="button"
            role="tab"
            data-tab={id}
            aria-selected={id === selected}
            tabIndex={id === selected ? 0 : -1}
            className={styles.tab}
            onClick={() => onSelect(id)}
          >
            {text}
            {count !== undefined && <span className={styles.count}>{count}</span>}
          </button>
        ))}
      </div>
      {children}
    </div>
  )
}
