import { useState } from 'preact/hooks';
import type { DeadLettersWire, DeadLetterWire, LetterFilterWire } from '../../src/dashboard/wire.js';
import { ActButton } from '../acts/act-button.js';
import { askBulk } from '../acts/bulk-dialog.js';
import { actOnEach } from '../acts/each.js';
import { LetterButtons } from '../acts/letter-buttons.js';
import { askFirst } from '../acts/one.js';
import { useChoosing } from '../parts/choosing.js';
import { Failure } from '../parts/failure.js';
import { More } from '../parts/more.js';
import { usePages } from '../parts/pages.js';
import { Payload } from '../parts/payload.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { act, getData, inPath } from '../server/requests.js';
import { hashOf } from '../state/route.js';
import { may } from '../state/session.js';
import { t } from '../words/language.js';
import { count } from '../words/say.js';

/** The dead letters of one tube that meet a filter, the newest first. */
export function Letters({ tube, filter }: { readonly tube: string; readonly filter: LetterFilterWire }) {
  const list = usePages<DeadLetterWire>(
    async (cursor, signal) => {
      const path = `tubes/${inPath(tube)}/dead`;
      const { letters, cursor: next } = await getData<DeadLettersWire>(path, { ...filter, cursor }, signal);
      return { items: letters, cursor: next };
    },
    [tube, JSON.stringify(filter)],
  );
  const choosing = useChoosing(list.items, ({ id }) => id);
  const [open, setOpen] = useState<string>();
  const letters = choosing.chosen;
  const again = () => {
    choosing.clear();
    list.again();
  };
  const each = (name: 'revive' | 'discard') => actOnEach(letters, ({ id }) => act(name, { tube, id }), again);
  const canChoose = may('revive') || may('discard');
  return (
    <>
      {list.error && <Failure error={list.error} />}
      <div class="bar">
        <button class="button" onClick={again}>
          {t('again')}
        </button>
        {letters.length > 0 && <span>{t('dead.chosen', { letters: count(letters.length) })}</span>}
        {letters.length > 0 && may('revive') && (
          <button class="button" onClick={() => void each('revive')}>
            {t('act.revive')}
          </button>
        )}
        {letters.length > 0 && may('discard') && (
          <button
            class="button"
            onClick={() =>
              askFirst(t('discard.title'), t('discard.text'), t('act.discard'), () => void each('discard'))
            }
          >
            {t('act.discard')}
          </button>
        )}
        {list.items.length > 0 && (
          <ActButton
            act="reviveMany"
            label={t('act.reviveMany')}
            onClick={() => askBulk({ name: 'reviveMany', body: { tube, filter } }, again)}
          />
        )}
        {list.items.length > 0 && (
          <ActButton
            act="discardMany"
            label={t('act.discardMany')}
            onClick={() => askBulk({ name: 'discardMany', body: { tube, filter } }, again)}
          />
        )}
      </div>
      <Table
        label={t('nav.dead')}
        rows={list.items}
        keyOf={({ id }) => id}
        empty={list.error ? '' : t(list.loading ? 'loading' : 'dead.none')}
        below={(letter) => (letter.id === open ? <Letter letter={letter} /> : undefined)}
        columns={[
          ...(canChoose ? [choosing.column] : []),
          { head: t('dead.diedAt'), cell: ({ diedAt }) => <Time at={diedAt} /> },
          {
            head: t('job.id'),
            cell: ({ id, key, ref }) => (
              <a class="mono long" href={hashOf(['job'], { ref })}>
                {key ?? id}
              </a>
            ),
          },
          { head: t('dead.why'), cell: ({ why }) => t(`died.${why}`) },
          { head: t('job.attempt'), number: true, cell: ({ attempt }) => count(attempt) },
          {
            head: t('dead.error'),
            cell: ({ id, error }) => (
              <button
                class="plain"
                aria-expanded={id === open}
                onClick={() => setOpen(id === open ? undefined : id)}
              >
                {error ? `${error.name}: ${error.message}` : t('dead.noError')}
              </button>
            ),
          },
          {
            head: t('acts'),
            quiet: true,
            cell: ({ id }) => <LetterButtons tube={tube} id={id} after={again} />,
          },
        ]}
      />
      <More list={list} />
    </>
  );
}

function Letter({ letter: { tube, id, error } }: { readonly letter: DeadLetterWire }) {
  return (
    <div class="stack">
      {error?.stack !== undefined && (
        <pre class="code" tabIndex={0} aria-label={t('dead.stack')}>
          {error.stack}
        </pre>
      )}
      <Payload path={`tubes/${inPath(tube)}/dead/${inPath(id)}/payload`} />
    </div>
  );
}
