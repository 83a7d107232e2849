/** A short fact in a frame, such as a label of a run; or a choice that can be switched on and off. */
import type { ReactNode } from "react"
import styles from "./chip.module.css"

export function Chip({ children, title }: { readonly children: ReactNode; readonly title?: string }) {
  return (
    <span className={styles.chip} title={title}>
      {children}
    </span>
  )
}

interface ToggleChipProps {
  readonly isOn: boolean
  readonly onToggle: () => void
  readonly children: ReactNode
}

export function ToggleChip({ isOn, onToggle, children }: ToggleChipProps) {
  return (
    <button
      type="button"
      aria-pressed={isOn}
      className={`${styles.chip} ${styles.toggle}`}
      onClick={onToggle}
    >
      {children}
    </button>
  )
}
