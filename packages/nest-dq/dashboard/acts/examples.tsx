import type { BulkExampleWire } from '../../src/dashboard/wire.js';
import { Time } from '../parts/time.js';
import { t } from '../words/language.js';
import { count } from '../words/say.js';

/** Some of what an act on many would change: the id or the key of each, and when it is, or was, due; of a message, when it died. */
export function Examples({ examples }: { readonly examples: readonly BulkExampleWire[] }) {
  if (examples.length === 0) return null;
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
            </span>
            <Time at={'dueAt' in example ? example.dueAt : example.diedAt} />
          </li>
        ))}
      </ul>
    </section>
  );
}
