import { randomUUID } from 'node:crypto';
import { ConflictException, Inject, Injectable, Logger, NotFoundException } from '@nestjs/common';
import { Again, DelayedHandler, DelayedJob, DqProducer, defineTube } from 'nest-dq';
import { tryToRevoke } from '../common/try-to-revoke.js';
import { Mailer } from '../mail/mailer.js';
import { settings, type Settings } from '../settings.js';
import type { CreateResourceDto } from './create-resource.dto.js';
import type { Deletion, Resource } from './resource.js';
import { ResourcesRepository } from './resources.repository.js';

interface DeletionJob {
  resourceId: string;
}

export const ResourceDeletion = defineTube<DeletionJob>('resource.delete');

const LAST_DAY = 30;
const NOTICE_DAYS = [23, 28, 29];

/**
 * Deletes a resource 30 days after its owner said so, with notices before; until then it can be undone. It is one job,
 * which goes from stage to stage and has the resource's id as its key, so there is one thing to revoke.
 */
@Injectable()
export class ResourcesService {
  private readonly logger = new Logger(ResourcesService.name);

  constructor(
    private readonly resources: ResourcesRepository,
    private readonly mailer: Mailer,
    private readonly dq: DqProducer,
    @Inject(settings.KEY) private readonly settings: Settings,
  ) {}

  add({ name, owner }: CreateResourceDto): Resource {
    const resource = { id: randomUUID(), name, owner };
    this.resources.save(resource.id, resource);
    return resource;
  }

  get(id: string): Resource {
    const resource = this.resources.find(id);
    if (!resource) throw new NotFoundException(`there is no resource ${id}`);
    return resource;
  }

  async planDeletion(id: string): Promise<Resource> {
    if (this.get(id).deletion) throw alreadyPlanned(id);
    const now = Date.now();
    const day = (number: number) => new Date(now + number * this.settings.day).toISOString();
    const deletion = { at: day(LAST_DAY), notices: NOTICE_DAYS.map(day), noticesSent: 0 };
    // The job, then the row: if the row is not saved, the job finds nothing to do.
    await this.dq.at(ResourceDeletion, { resourceId: id }, nextStage(deletion), { key: id });
    if (!this.resources.setDeletion(id, deletion)) throw alreadyPlanned(id); // another request was faster
    return this.get(id);
  }

  /** `revoked`: nothing of it will run any more. Otherwise a stage runs right now, and finds nothing to do. */
  async undoDeletion(id: string): Promise<{ resource: Resource; revoked: boolean }> {
    this.get(id);
    if (!this.resources.clearDeletion(id)) {
      throw new ConflictException(`no deletion of resource ${id} is scheduled`);
    }
    const answer = await tryToRevoke(this.dq, { tube: ResourceDeletion, key: id });
    this.logger.log(`deletion of ${id} is undone; its job: ${answer}`);
    return { resource: this.get(id), revoked: answer === 'revoked' };
  }

  /** Sends a notice and comes again for the next stage; the last one deletes. */
  @DelayedHandler(ResourceDeletion)
  async advanceDeletion({ resourceId }: DeletionJob, job: DelayedJob): Promise<Again | void> {
    const resource = this.resources.find(resourceId);
    if (!resource?.deletion) return; // undone
    const stage = nextStage(resource.deletion);
    if (stage > job.dueAt) return Again.at(stage); // undone, and planned again
    if (resource.deletion.noticesSent === NOTICE_DAYS.length) {
      this.resources.remove(resourceId);
      this.logger.log(`resource ${resourceId} (${resource.name}) is deleted`);
      return;
    }
    await this.notify(resource, resource.deletion);
    this.resources.countNotice(resourceId);
    const left = this.resources.find(resourceId)?.deletion;
    return left && Again.at(nextStage(left));
  }

  private async notify({ id, name, owner }: Resource, { noticesSent }: Deletion): Promise<void> {
    const daysLeft = LAST_DAY - NOTICE_DAYS[noticesSent]!;
    const days = daysLeft === 1 ? 'a day' : `${daysLeft} days`;
    await this.mailer.send({
      id: `${id}-${daysLeft}`,
      to: owner,
      subject: `${name} will be deleted in ${days}`,
    });
  }
}

/** When the next notice is due, or the deletion itself. */
function nextStage({ at, notices, noticesSent }: Deletion): Date {
  return new Date(notices[noticesSent] ?? at);
}

function alreadyPlanned(id: string): ConflictException {
  return new ConflictException(`the deletion of resource ${id} is already scheduled`);
}
