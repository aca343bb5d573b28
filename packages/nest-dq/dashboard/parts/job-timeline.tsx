import type { ComponentChildren } from 'preact';
import type { ExplanationWire } from '../../src/dashboard/wire.js';
import type { JobStep } from '../figures/job-steps.js';
import { now } from '../state/live.js';
import { t } from '../words/language.js';
import { count, duration } from '../words/say.js';
import { ErrorLine } from './error-line.js';
import { Progress } from './progress.js';
import { Time } from './time.js';

type Tone = 'good' | 'bad' | 'warn' | 'calm' | 'accent';

/** The past of a job and its next attempt, from top to bottom. */
export function JobTimeline({
  job,
  at,
  steps,
}: {
  readonly job: ExplanationWire;
  /** When the job was read, in ms. */
  readonly at: number;
  readonly steps: readonly JobStep[];
}) {
  return (
    <ol class="steps">
      {steps.map((step) => (
        <Step key={`${step.kind} ${numberOf(step)}`} step={step} job={job} at={at} />
      ))}
    </ol>
  );
}

function Step({
  step,
  job,
  at,
}: {
  readonly step: JobStep;
  readonly job: ExplanationWire;
  readonly at: number;
}) {
  switch (step.kind) {
    case 'failed': {
      const { attempt, startedAt, took, process, error } = step.failed;
      return (
        <Entry
          tone="bad"
          title={attemptText(attempt, job)}
          at={startedAt}
          facts={[t('step.failed', { took: duration(took) }), process]}
        >
          <ErrorLine error={error} />
        </Entry>
      );
    }
    case 'running': {
      const ranFor = step.at === undefined ? undefined : Math.max(0, at - Date.parse(step.at));
      const said =
        ranFor === undefined ? t('state.running') : t('step.running', { duration: duration(ranFor) });
      return (
        <Entry tone="accent" title={attemptText(step.attempt, job)} at={step.at} facts={[said, step.process]}>
          {job.progress && <Progress {...job.progress} />}
        </Entry>
      );
    }
    case 'done':
      return (
        <Entry
          tone="good"
          title={attemptText(step.attempt, job)}
          at={step.at}
          facts={[
            step.took === undefined ? t('state.done') : t('step.done', { took: duration(step.took) }),
            step.process,
          ]}
        >
          {job.finished?.progress && <Progress {...job.finished.progress} />}
        </Entry>
      );
    case 'untold':
      return (
        <Entry
          tone="warn"
          title={
            step.from === step.to
              ? attemptText(step.from, job)
              : t('step.attempts', { from: count(step.from), to: count(step.to) })
          }
          facts={[t(step.revoked ? 'step.cut' : step.left ? 'step.left' : 'step.untold')]}
        />
      );
    case 'next':
      return (
        <Entry
          tone="calm"
          isAhead
          title={attemptText(step.attempt, job)}
          at={step.at}
          facts={[nextFact(step, job)]}
        />
      );
    case 'dead':
      return (
        <Entry
          tone="bad"
          title={t('state.dead')}
          at={step.at}
          facts={[job.deadLetter && t(`died.${job.deadLetter.why}`)]}
        />
      );
    case 'revoked':
      return (
        <Entry
          tone="calm"
          title={t(step.aborted ? 'step.aborted' : 'state.revoked')}
          at={step.at}
          facts={[step.by === undefined ? undefined : t('detail.by', { by: step.by })]}
        />
      );
    case 'due':
      return (
        <Entry
          tone="calm"
          isAhead={Date.parse(step.at ?? '') > now.value}
          title={t('job.due')}
          at={step.at}
        />
      );
    default:
      return (
        <Entry
          tone={step.kind === 'expired' ? 'warn' : 'calm'}
          title={t(step.kind === 'expired' ? 'state.expired' : `step.${step.kind}`)}
          at={step.at}
        />
      );
  }
}

function Entry({
  tone,
  title,
  at,
  facts = [],
  isAhead = false,
  children,
}: {
  readonly tone: Tone;
  readonly title: string;
  readonly at?: string | undefined;
  readonly facts?: readonly (string | undefined)[];
  /** Whether it is still to come. */
  readonly isAhead?: boolean;
  readonly children?: ComponentChildren;
}) {
  const shown = facts.filter((fact) => fact !== undefined);
  return (
    <li class={`step step-${tone}${isAhead ? ' ahead' : ''}`}>
      <div class="step-head">
        <span class="step-title">{title}</span>
        {at !== undefined && <Time at={at} relative />}
      </div>
      {shown.length > 0 && <p class="faint small long">{shown.join(' · ')}</p>}
      {children}
    </li>
  );
}

function nextFact({ at }: { readonly at: string }, { maxAttempts, attempt = 0 }: ExplanationWire): string {
  const isLast = maxAttempts !== undefined && attempt + 1 >= maxAttempts;
  if (isLast) return t('step.last');
  return t(Date.parse(at) > now.value ? 'step.next' : 'step.nextDue');
}

/** Attempt 2 of 6, where the maximum is known. */
export function attemptText(attempt: number, { maxAttempts }: Pick<ExplanationWire, 'maxAttempts'>): string {
  if (maxAttempts === undefined) return t('step.attempt', { attempt: count(attempt) });
  return t('step.attemptOf', { attempt: count(attempt), most: count(maxAttempts) });
}

function numberOf(step: JobStep): number {
  if (step.kind === 'failed') return step.failed.attempt;
  if (step.kind === 'untold') return step.from;
  return 'attempt' in step ? step.attempt : 0;
}
