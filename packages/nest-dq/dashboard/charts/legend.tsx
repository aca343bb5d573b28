import type { ComponentChildren } from 'preact';

/** The names of colours. */
export function Legend({
  entries,
}: {
  readonly entries: readonly { readonly colour: string; readonly name: ComponentChildren }[];
}) {
  return (
    <ul class="legend">
      {entries.map(({ colour, name }) => (
        <li key={colour}>
          <i class={colour} aria-hidden="true" />
          {name}
        </li>
      ))}
    </ul>
  );
}
