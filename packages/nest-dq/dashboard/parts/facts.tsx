import { Fragment, type ComponentChildren } from 'preact';
import { quietly } from './quietly.js';

/** Names and values. Those without a value are left out. */
export function Facts({
  facts,
}: {
  readonly facts: readonly (readonly [name: string, value: ComponentChildren])[];
}) {
  return (
    <dl class="facts">
      {facts
        .filter(([, value]) => value !== undefined && value !== null && value !== false)
        .map(([name, value]) => (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd>{quietly(value)}</dd>
          </Fragment>
        ))}
    </dl>
  );
}
