import { useState } from 'preact/hooks';
import type { DeadLettersWire, DeadLetterWire, LetterFilterWire } from '../../src/dashboard/wire.js';
import { ActButton } from '../acts/act-button.js';
import { askBulk } from '../acts/bulk-dialog.js';
import { actOnEach, discardTitle, reviveTitle } from '../acts/each.js';
import { LetterButtons } from '../acts/letter-buttons.js';
import { askFirst, askInProduction } from '../acts/one.js';
import { Badge } from '../parts/badge.js';
import { useChoosing } from '../parts/choosing.js';
import { ErrorButton } from '../parts/error-button.js';
import { Failure } from '../parts/failure.js';
import { Refresh, useLiveList } from '../parts/live-list.js';
import { More } from '../parts/more.js';
import type { Paged } from '../parts/pages.js';
import { Payload } from '../parts/payload.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { UnseenTube } from '../parts/unknown-tube.js';
import { act, getData, inPath } from '../server/requests.js';
import { useKept } from '../state/kept.js';
import { refOf } from '../state/job-address.js';
import { live } from '../state/live.js';
import { hashOf } from '../state/route.js';
import { may } from '../state/session.js';
import { t } from '../words/language.js';
import { count } from '../words/say.js';

/** A job that died again has another letter. */
const idOf = ({ id, diedAt }: DeadLetterWire) => `${id} ${diedAt}`;
const nameOf = ({ id, key }: DeadLetterWire) => key ?? id;
const NEWEST_FIRST = { idOf, orderOf: ({ diedAt }: DeadLetterWire) => -Date.parse(diedAt) };

/** The dead letters of one tube, or of all, that meet a filter, the newest first. */
export function Letters({
  tube,
  filter,
}: {
  readonly tube: string | undefined;
  readonly filter: LetterFilterWire;
}) {
  const [matching, setMatching] = useState<DeadLettersWire['matching']>();
  const list = useLiveList<DeadLetterWire>(
    async (query, signal) => {
      const path = tube === undefined ? 'dead' : `tubes/${inPath(tube)}/dead`;
      const isFirst = query.cursor === undefined && !query.brief;
      const asked = { ...filter, ...query, ...(isFirst && { count: true }) };
      const page = await getData<DeadLettersWire>(path, asked, signal);
      if (isFirst && !signal.aborted) setMatching(page.matching);
      return { items: page.letters, cursor: page.cursor, looked: page.looked };
    },
    [],
    NEWEST_FIRST,
  );
  const alive = list.items.filter((letter) => !list.isGone(letter));
  const choosing = useChoosing(alive, idOf, nameOf);
  const [open, setOpen] = useKept<string | undefined>('open', undefined);
  const letters = choosing.chosen;
  const again = () => {
    choosing.clear();
    list.again();
  };
  const each = (name: 'revive' | 'discard') =>
    actOnEach(letters, (letter) => act(name, refOf(letter)), again);
  const many = (name: 'reviveMany' | 'discardMany') =>
    askBulk(
      tubesOf(tube, list.items).map((each) => ({ name, body: { tube: each, filter } })),
      again,
    );
  const canChoose = may('revive') || may('discard');
  return (
    <>
      {list.error && <Failure error={list.error} />}
      {list.items.length === 0 && <UnseenTube tube={tube} page="dead" />}
      <div class="bar">
        <Refresh list={{ ...list, again }} />
        {matching && matching.letters > 0 && (
          <span class="faint">
            {t(matching.more ? 'dead.matchingMore' : 'dead.matching', { letters: count(matching.letters) })}
          </span>
        )}
        {letters.length > 0 && <span>{t('rows.chosen', { rows: count(letters.length) })}</span>}
        {letters.length > 0 && (
          <>
            <ActButton
              act="revive"
              label={t('act.revive')}
              onClick={() =>
                askInProduction(
                  'revive',
                  reviveTitle(letters.length),
                  t('revive.text'),
                  t('act.revive'),
                  () => each('revive'),
                )
              }
            />
            <ActButton
              act="discard"
              label={t('act.discard')}
              onClick={() =>
                askFirst('discard', discardTitle(letters.length), t('discard.text'), t('act.discard'), () =>
                  each('discard'),
                )
              }
            />
          </>
        )}
        {list.items.length > 0 && (
          <>
            <ActButton act="reviveMany" label={t('act.reviveMany')} onClick={() => many('reviveMany')} />
            <ActButton act="discardMany" label={t('act.discardMany')} onClick={() => many('discardMany')} />
          </>
        )}
      </div>
      <Table
        label={t('nav.dead')}
        rows={list.items}
        keyOf={idOf}
        classOf={(letter) => (list.isGone(letter) ? 'gone' : undefined)}
        empty={list.error ? '' : emptyText(list)}
        below={(letter) => (idOf(letter) === open ? <Letter letter={letter} /> : undefined)}
        columns={[
          ...(canChoose ? [choosing.column] : []),
          { head: t('dead.diedAt'), place: 'end', cell: ({ diedAt }) => <Time at={diedAt} relative /> },
          ...(tube === undefined
            ? [{ head: t('tube'), cell: (letter: DeadLetterWire) => <span class="long">{letter.tube}</span> }]
            : []),
          {
            head: t('job.keyOrId'),
            place: 'lead',
            cell: (letter) => (
              <a class="mono long" href={hashOf(['job'], { ref: letter.ref })}>
                {nameOf(letter)}
              </a>
            ),
          },
          {
            head: t('dead.why'),
            cell: (letter) =>
              list.isGone(letter) ? <Badge tone="calm">{t('dead.left')}</Badge> : t(`died.${letter.why}`),
          },
          { head: t('job.attempt'), number: true, cell: ({ attempt }) => count(attempt) },
          {
            head: t('dead.error'),
            cell: (letter) => (
              <ErrorButton
                error={letter.error}
                isOpen={idOf(letter) === open}
                onClick={() => setOpen(idOf(letter) === open ? undefined : idOf(letter))}
              />
            ),
          },
          {
            head: t('acts'),
            quiet: true,
            cell: (letter) =>
              !list.isGone(letter) && (
                <LetterButtons tube={letter.tube} id={letter.id} jobKey={letter.key} after={again} />
              ),
          },
        ]}
      />
      <More list={list} />
    </>
  );
}

function emptyText({ loading, more, looked }: Paged<unknown>): string {
  if (loading) return t('loading');
  return more ? t('dead.noneYet', { looked: count(looked) }) : t('dead.none');
}

/** One tube, or all that have dead letters. */
function tubesOf(tube: string | undefined, letters: readonly DeadLetterWire[]): readonly string[] {
  if (tube !== undefined) return [tube];
  const known = (live.peek()?.tubes?.tubes ?? []).filter(({ dead }) => dead !== 0);
  return [...new Set([...known, ...letters].map((each) => each.tube))];
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
