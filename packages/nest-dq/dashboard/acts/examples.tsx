import type { BulkExampleWire } from '../../src/dashboard/wire.js';
import { Time } from '../parts/time.js';
import { t } from '../words/language.js';
import { count, time } from '../words/say.js';

/**
 * Some of what an act on many would change: the key of each, or its id if it has none; when it is, or was, due, and when it will be;
 * of a message, when it died.
 */
export function Examples({
  examples,
  total,
}: {
  readonly examples: readonly BulkExampleWire[];
  readonly total: number;
}) {
  if (examples.length === 0) return null;
  const more = total - examples.length;
  return (
    <section aria-label={t('bulk.examples')}>
      <p class="faint">{t('bulk.examples')}</p>
      <ul class="examples">
        {examples.map((example) => (
          <li key={example.id}>
            <span>
              <code>{('key' in example ? example.key : undefined) ?? example.id}</code>
              {'missing' in example && (
                <small class="faint">
                  {t('repair.missing', { tube: example.tube, missing: count(example.missing) })}
                </small>
              )}
              {'error' in example && example.error && <small class="faint">{example.error.message}</small>}
            </span>
            {'movesTo' in example ? (
              <Move from={example.dueAt} to={example.movesTo} />
            ) : (
              <Time at={'diedAt' in example ? example.diedAt : example.dueAt} />
            )}
          </li>
        ))}
      </ul>
      {more > 0 && <p class="faint small">{t('bulk.more', { more: count(more) })}</p>}
    </section>
  );
}

/** The old and the new time; the one if they look the same. */
function Move({ from, to }: { readonly from: string; readonly to: string }) {
  const stays = time(Date.parse(from)) === time(Date.parse(to));
  return (
    <span class="move">
      <Time at={from} />{' '}
      {stays ? (
        t('bulk.stays')
      ) : (
        <>
          → <Time at={to} />
        </>
      )}
    </span>
  );
}
