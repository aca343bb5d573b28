import { randomUUID } from 'node:crypto';
import { ConflictException, Injectable, Logger, NotFoundException } from '@nestjs/common';
import { DelayedHandler, DelayedJob, DqProducer, type RevokeResult } from 'nest-dq';
import { Revoker } from '../common/revoker.js';
import { Mailer } from '../mail/mailer.js';
import { Settings } from '../settings.js';
import { DeletionNotice, ResourceDeletion, type DeletionJob, type NoticeJob } from '../tubes.js';
import type { Deletion, Resource } from './resource.js';
import { ResourcesRepository } from './resources.repository.js';

const LAST_DAY = 30;
const NOTICE_DAYS = [23, 28, 29];

/** Deletes a resource 30 days after its owner said so, with notices before; until then it can be undone. */
@Injectable()
export class ResourcesService {
  private readonly logger = new Logger(ResourcesService.name);

  constructor(
    private readonly resources: ResourcesRepository,
    private readonly mailer: Mailer,
    private readonly dq: DqProducer,
    private readonly revoker: Revoker,
    private readonly settings: Settings,
  ) {}

  add(name: string, owner: string): Resource {
    const resource = { id: randomUUID(), name, owner };
    this.resources.add(resource);
    return resource;
  }

  get(id: string): Resource {
    const resource = this.resources.find(id);
    if (!resource) throw new NotFoundException(`there is no resource ${id}`);
    return resource;
  }

  async planDeletion(id: string): Promise<Resource> {
    if (this.get(id).deletion) throw alreadyPlanned(id);
    const deletion = await this.schedule(id);
    if (!this.resources.setDeletion(id, deletion)) {
      await this.revokeAll(deletion); // another request was faster
      throw alreadyPlanned(id);
    }
    return this.get(id);
  }

  /** How many jobs of the series were revoked; the others had run. */
  async undoDeletion(id: string): Promise<{ resource: Resource; revoked: number }> {
    this.get(id);
    const deletion = this.resources.clearDeletion(id);
    if (!deletion) throw new ConflictException(`no deletion of resource ${id} is planned`);
    const answers = await this.revokeAll(deletion);
    const revoked = answers.filter((answer) => answer === 'revoked').length;
    this.logger.log(`deletion of ${id} is undone; its jobs: ${answers.join(', ')}`);
    return { resource: this.get(id), revoked };
  }

  @DelayedHandler(DeletionNotice)
  async notify({ resourceId, deletionId, daysLeft }: NoticeJob, job: DelayedJob): Promise<void> {
    const resource = this.resources.findDeleting(resourceId, deletionId);
    if (!resource) return; // undone
    const days = daysLeft === 1 ? 'a day' : `${daysLeft} days`;
    await this.mailer.send({
      id: job.id,
      to: resource.owner,
      subject: `${resource.name} will be deleted in ${days}`,
    });
  }

  @DelayedHandler(ResourceDeletion)
  delete({ resourceId, deletionId }: DeletionJob): void {
    const resource = this.resources.findDeleting(resourceId, deletionId);
    if (!resource) return; // undone
    this.resources.remove(resourceId);
    this.logger.log(`resource ${resourceId} (${resource.name}) is deleted`);
  }

  /** If one add fails, the others do nothing when they run: no row has their deletion. */
  private async schedule(resourceId: string): Promise<Deletion> {
    const deletionId = randomUUID();
    const now = Date.now();
    const day = (number: number) => new Date(now + number * this.settings.day);
    const receipts = await Promise.all([
      ...NOTICE_DAYS.map((number) =>
        this.dq.at(DeletionNotice, { resourceId, deletionId, daysLeft: LAST_DAY - number }, day(number)),
      ),
      this.dq.at(ResourceDeletion, { resourceId, deletionId }, day(LAST_DAY)),
    ]);
    return {
      id: deletionId,
      at: day(LAST_DAY),
      notices: NOTICE_DAYS.map(day),
      jobs: receipts.map(({ ids }) => ids),
    };
  }

  private revokeAll({ jobs }: Deletion): Promise<RevokeResult[]> {
    return Promise.all(jobs.map((ids) => this.revoker.revoke(ids)));
  }
}

function alreadyPlanned(id: string): ConflictException {
  return new ConflictException(`the deletion of resource ${id} is already planned`);
}
