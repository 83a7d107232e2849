/** Some figures side by side: what each one is, its value, and a word about it. */
import type { ReactNode } from "react"
import styles from "./figure-list.module.css"

export interface Figure {
  readonly title: string
  readonly value: ReactNode
  readonly about: ReactNode
}

export function FigureList({ figures }: { readonly figures: readonly Figure[] }) {
  return (
    <dl className={styles.figures}>
      {figures.map(({ title, value, about }) => (
        <div key={title}>
          <dt>{title}</dt>
          <dd>
            <strong>{value}</strong>
            <span>{about}</span>
          </dd>
        </div>
      ))}
    </dl>
  )
}
