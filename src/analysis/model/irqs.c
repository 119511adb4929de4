/* SPDX-License-Identifier: MIT */
/*
 * irqs.c - hard and soft interrupts, by CPU and number.
 */
#include "analysis/model/state.h"

static struct sonde_model_pair *find_pair(struct sonde_model *kernel,
					  const struct sonde_step *step,
					  enum sonde_pair_kind kind)
{
	struct sonde_key key =
		sonde_key_make(SONDE_KEY_UINT,
			       (uint64_t)step->numbers[IRQ_NUMBER],
			       (uint32_t)step->cpu << 2 | kind);

	return sonde_model_put(kernel, &kernel->pairs, &key);
}

static void begin_pair(struct sonde_model *kernel,
		       const struct sonde_step *step, enum sonde_pair_kind kind)
{
	struct sonde_model_pair *pair = find_pair(kernel, step, kind);

	if (!pair)
		return;
	pair->state = SONDE_OPEN_YES;
	pair->since_ns = step->time_ns;
}

static void end_pair(struct sonde_model *kernel, const struct sonde_step *step,
		     enum sonde_pair_kind kind, enum sonde_interval_kind is)
{
	struct sonde_model_pair *pair = find_pair(kernel, step, kind);
	struct sonde_interval interval = {
		.kind = is,
		.cpu = step->cpu,
		.tid = step->tid,
		.end_ns = step->time_ns,
		.irq.number = (uint32_t)step->numbers[IRQ_NUMBER],
	};

	if (!pair)
		return;
	interval.begin_ns = pair->since_ns;
	if (pair->state == SONDE_OPEN_UNKNOWN && kernel->is_part)
		sonde_model_journal(kernel, step);
	if (pair->state == SONDE_OPEN_YES)
		sonde_model_emit(kernel, step, &interval);
	pair->state = SONDE_OPEN_NO;
}

void sonde_model_on_irq_begin(struct sonde_model *kernel,
			      const struct sonde_step *step)
{
	struct sonde_model_cpu *cpu = &kernel->cpus[step->cpu];

	cpu->in_irq = true;
	cpu->irq = (uint32_t)step->numbers[IRQ_NUMBER];
	begin_pair(kernel, step, SONDE_PAIR_IRQ);
	sonde_model_set_name(kernel, (uint64_t)step->numbers[IRQ_NUMBER], 0,
			     step);
}

void sonde_model_on_irq_end(struct sonde_model *kernel,
			    const struct sonde_step *step)
{
	kernel->cpus[step->cpu].in_irq = false;
	end_pair(kernel, step, SONDE_PAIR_IRQ, SONDE_INTERVAL_IRQ);
}

/* Of several raises before the handler runs, the first counts. */
void sonde_model_on_raise(struct sonde_model *kernel,
			  const struct sonde_step *step)
{
	struct sonde_model_pair *pair =
		find_pair(kernel, step, SONDE_PAIR_RAISE);

	if (!pair || pair->state == SONDE_OPEN_YES)
		return;
	if (pair->state == SONDE_OPEN_UNKNOWN && kernel->is_part) {
		if (!pair->asked)
			sonde_model_journal(kernel, step);
		pair->asked = true;
		return;
	}
	pair->state = SONDE_OPEN_YES;
	pair->since_ns = step->time_ns;
}

void sonde_model_on_softirq_begin(struct sonde_model *kernel,
				  const struct sonde_step *step)
{
	struct sonde_model_cpu *cpu = &kernel->cpus[step->cpu];

	cpu->in_softirq = true;
	cpu->softirq = (uint32_t)step->numbers[IRQ_NUMBER];
	end_pair(kernel, step, SONDE_PAIR_RAISE, SONDE_INTERVAL_RAISE);
	begin_pair(kernel, step, SONDE_PAIR_SOFTIRQ);
}

void sonde_model_on_softirq_end(struct sonde_model *kernel,
				const struct sonde_step *step)
{
	kernel->cpus[step->cpu].in_softirq = false;
	end_pair(kernel, step, SONDE_PAIR_SOFTIRQ, SONDE_INTERVAL_SOFTIRQ);
}

void sonde_model_on_timer(struct sonde_model *kernel,
			  const struct sonde_step *step)
{
	bool begins = step->kind == SONDE_STEP_TIMER_BEGIN;

	kernel->cpus[step->cpu].in_timer = begins;
	if (begins)
		begin_pair(kernel, step, SONDE_PAIR_TIMER);
	else
		end_pair(kernel, step, SONDE_PAIR_TIMER, SONDE_INTERVAL_TIMER);
}
