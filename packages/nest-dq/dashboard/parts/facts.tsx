import type { ComponentChildren } from 'preact';
import { quietly } from './quietly.js';

/** Names and values. Those without a value are left out. */
export function Facts({
  facts,
  inline,
}: {
  readonly facts: readonly (readonly [name: string, value: ComponentChildren])[];
  /** Side by side instead of one below the other. */
  readonly inline?: boolean;
}) {
  return (
    <dl class={inline ? 'facts inline' : 'facts'}>
      {facts
        .filter(([, value]) => value !== undefined && value !== null && value !== false)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{quietly(value)}</dd>
          </div>
        ))}
    </dl>
  );
}
