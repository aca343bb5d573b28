import { useEffect, useRef, useState } from 'preact/hooks';
import type { BulkExampleWire, BulkProgressWire } from '../../src/dashboard/wire.js';
import { Dialog } from '../parts/dialog.js';
import { Failure } from '../parts/failure.js';
import { actOnMany, type BulkAct } from '../server/requests.js';
import { closeDialog, showDialog } from '../state/dialog.js';
import { noteInterrupted, type Interrupted } from '../state/interrupted.js';
import { t } from '../words/language.js';
import { count, duration, time } from '../words/say.js';
import { blockedText } from './blocked.js';
import { Blocked } from './confirming.js';
import { Examples } from './examples.js';
import { readMost, withMost } from './most.js';
import { joined, pace } from './progress.js';
import { titleOf, wordOf } from './titles.js';
import { toneOf } from './tone.js';

/**
 * `counting` what the act would change, `asking` whether to, `acting`, and `over`. `stopped`: it can continue. `uncounted`:
 * counting failed, so nothing is changed.
 */
type Step = 'counting' | 'uncounted' | 'asking' | 'acting' | 'stopped' | 'over';

type Progress = BulkProgressWire<BulkExampleWire>;
type Begun = Pick<Interrupted, 'cursor' | 'done'>;

/** Above this number the name of the tube has to be typed. */
const MANY = 1_000;

/**
 * Counts what a bulk act would change, asks for confirmation, then performs it and shows its progress. An interrupted act
 * continues where it stopped. For several tubes there is an act for each, one after the other.
 */
export function askBulk(acts: readonly BulkAct[], after: () => void, begun?: Begun): void {
  showDialog(<BulkDialog acts={acts} after={after} begun={begun} />);
}

function BulkDialog({
  acts,
  after,
  begun,
}: {
  readonly acts: readonly BulkAct[];
  readonly after: () => void;
  readonly begun: Begun | undefined;
}) {
  const { name, body } = acts[0]!;
  const word = wordOf(acts[0]!);
  const [step, setStep] = useState<Step>('counting');
  const [progress, setProgress] = useState<Progress>();
  /** Result of the dry run. */
  const [counted, setCounted] = useState<Progress>();
  const [error, setError] = useState<Error>();
  const [typed, setTyped] = useState('');
  const stop = useRef<AbortController>(undefined);
  /** The act that is next, and where it continues. */
  const place = useRef<{ readonly act: number; readonly cursor?: string | undefined }>({
    act: 0,
    cursor: begun?.cursor,
  });
  const began = useRef(0);
  const [mostText, setMostText] = useState('');
  /** Changed before the present run. */
  const [before, setBefore] = useState(begun?.done ?? 0);
  const done = progress?.done ?? 0;
  const most = readMost(mostText);
  const found = counted?.done ?? 0;
  const meant = Number.isNaN(most) ? found : Math.min(found, most ?? found);

  /** Calls each act, and tells the progress of all. With a limit there is only one. */
  async function* callAll(dryRun: boolean, limit: number | undefined, signal: AbortSignal) {
    let all: Progress | undefined;
    for (let at = place.current.act; at < acts.length; at++) {
      const act = acts[at]!;
      const cursor = at === place.current.act ? place.current.cursor : undefined;
      let last: Progress | undefined;
      for await (const each of actOnMany(withMost(act, limit), { dryRun, cursor }, signal)) {
        last = joined(all, each);
        yield { act: at, cursor: each.cursor, progress: last };
      }
      all = last;
    }
  }

  /** Kafka's acts have no cursors; of all others the last page has none. */
  function note(
    { act, cursor }: { readonly act: number; readonly cursor?: string | undefined },
    sum: number,
  ) {
    if (name.startsWith('kafka')) return;
    const next = cursor === undefined ? act + 1 : act;
    place.current = { act: next, cursor };
    const bulk = acts[next];
    noteInterrupted(bulk && { bulk, rest: acts.slice(next + 1), cursor, done: sum });
  }

  async function run(dryRun: boolean, from = before, limit?: number) {
    const control = new AbortController();
    stop.current = control;
    setStep(dryRun ? 'counting' : 'acting');
    setBefore(from);
    setProgress(undefined);
    setError(undefined);
    began.current = performance.now();
    try {
      for await (const each of callAll(dryRun, limit, control.signal)) {
        setProgress(each.progress);
        if (dryRun) setCounted(each.progress);
        // If a page's result is lost, its number of changes is unknown, so an act with a limit can't continue.
        else if (limit === undefined) note(each, from + each.progress.done);
      }
      setStep(dryRun ? 'asking' : 'over');
    } catch (caught) {
      if (!control.signal.aborted) setError(caught as Error);
      setStep(dryRun ? 'uncounted' : 'stopped');
    }
  }

  useEffect(() => {
    void run(true);
    return () => stop.current?.abort();
  }, []);

  const hasActed = step === 'acting' || step === 'stopped' || step === 'over';
  const blocked = blockedText(name);
  const placeName = 'topic' in body ? body.topic : body.tube;
  const toType = meant <= MANY ? undefined : acts.length > 1 ? String(meant) : placeName;
  const isConfirmed = toType === undefined || typed.trim() === toType;
  /** The title says how many. */
  const isTitled = step === 'asking' && meant === found && found > 0;
  /** Changed by earlier runs of this dialog. */
  const earlier = before - (begun?.done ?? 0);
  return (
    <Dialog
      title={titleOf(acts, step === 'counting' || step === 'uncounted' ? undefined : meant, counted)}
      onClose={() => hasActed && after()}
    >
      <p role="status" class={isTitled ? 'unseen' : undefined}>
        {step === 'asking' && meant < found
          ? t('bulk.askingSome', { meant: count(meant), found: count(found) })
          : t(`bulk.${step}`, { done: count(hasActed ? before + done : done) })}
      </p>
      {!hasActed && <p>{t(`about.${word}`)}</p>}
      {counted?.spread && (
        <p>
          {t('bulk.spread', {
            from: time(Date.parse(counted.spread.from)),
            to: time(Date.parse(counted.spread.to)),
          })}
        </p>
      )}
      {step === 'acting' && <Pace progress={progress} total={meant - earlier} began={began.current} />}
      {progress && hasActed && (
        <p class="faint">
          {t('bulk.rest', { skipped: count(progress.skipped), failed: count(progress.failed) })}
        </p>
      )}
      {progress?.leaderless && (
        <p class="card warn">{t('kafka.leaderless', { partitions: progress.leaderless.join(', ') })}</p>
      )}
      {progress && !hasActed && <Examples examples={progress.examples.slice(0, meant)} total={meant} />}
      {progress && progress.failures.length > 0 && (
        <ul class="failures">
          {progress.failures.map(({ id, message }) => (
            <li key={id}>
              <code>{id}</code> {message}
            </li>
          ))}
        </ul>
      )}
      {error && <Failure error={error} />}
      {step === 'asking' && found > 0 && !begun && acts.length === 1 && 'filter' in body && (
        <label class="field">
          <span>{t('bulk.most')}</span>
          <input
            type="number"
            min={1}
            step={1}
            placeholder={count(found)}
            aria-invalid={Number.isNaN(most)}
            onInput={({ currentTarget }) =>
              setMostText(currentTarget.validity.badInput ? 'bad' : currentTarget.value)
            }
          />
        </label>
      )}
      {step === 'asking' && toType !== undefined && (
        <label class="confirm">
          <span>{t('bulk.type', { name: toType })}</span>
          <input
            type="text"
            autocomplete="off"
            spellcheck={false}
            value={typed}
            onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          />
        </label>
      )}
      {step !== 'over' && <Blocked text={blocked} />}
      <div class="buttons">
        {step === 'acting' ? (
          <button class="button" onClick={() => stop.current?.abort()}>
            {t('act.stop')}
          </button>
        ) : (
          <button
            class="button"
            onClick={() => {
              closeDialog();
              if (hasActed) after();
            }}
          >
            {t(hasActed ? 'act.close' : 'act.cancel')}
          </button>
        )}
        {step === 'uncounted' && (
          <Act label={t('bulk.countAgain')} blocked={blocked} onClick={() => void run(true)} />
        )}
        {(step === 'counting' || step === 'asking') && (
          <Act
            tone={toneOf(name)}
            blocked={blocked}
            disabled={step === 'counting' || found === 0 || Number.isNaN(most) || !isConfirmed}
            label={t(`bulk.${meant === 1 ? 'one' : 'go'}.${word}`, { done: count(meant) })}
            onClick={() => void run(false, before, most)}
          />
        )}
        {step === 'stopped' && most === undefined && (
          <Act
            tone={toneOf(name)}
            label={t('bulk.goOn')}
            blocked={blocked}
            onClick={() => void run(false, before + done)}
          />
        )}
      </div>
    </Dialog>
  );
}

/** A button that does nothing while it is blocked, and keeps its place. */
function Act({
  label,
  tone = '',
  disabled,
  blocked,
  onClick,
}: {
  readonly label: string;
  readonly tone?: 'main' | 'bad' | '';
  readonly disabled?: boolean;
  readonly blocked: string | undefined;
  readonly onClick: () => void;
}) {
  return (
    <button
      class={`button ${tone}`}
      disabled={disabled}
      aria-disabled={blocked !== undefined}
      title={blocked}
      onClick={() => blocked === undefined && onClick()}
    >
      {label}
    </button>
  );
}

/** How far it is, how fast it is, and how long it still takes. */
function Pace({
  progress,
  total,
  began,
}: {
  readonly progress: Progress | undefined;
  readonly total: number;
  readonly began: number;
}) {
  const { done = 0, failed = 0, skipped = 0 } = progress ?? {};
  const handled = done + failed + skipped;
  const now = pace(handled, total, performance.now() - began);
  return (
    <div class="pace">
      <progress aria-label={t('bulk.progress')} max={Math.max(1, total)} value={handled} />
      <p class="faint">
        {t('bulk.of', { done: count(handled), total: count(total) })}
        {now && t('bulk.pace', { rate: count(Math.max(1, now.perSecond)), left: duration(now.leftMs) })}
      </p>
    </div>
  );
}
