// Moves particles in steps through layers of materials: many objects, each of a class with short
// virtual methods, as simulations of detectors have them.
//
// Control jumps between many small functions, mostly through tables of virtual methods.
#include <cstdio>
#include <memory>
#include <vector>

#include "rounds.h"

namespace {

constexpr int kParticles = 23;
constexpr int kMaxSteps = 24;

class Material {
 public:
  virtual ~Material() = default;
  virtual float Density() const = 0;
  virtual float Radiation() const { return 1 / (1 + Density()); }
  virtual bool IsSensitive() const { return false; }
};

class Lead : public Material {
 public:
  float Density() const override { return 11.3F; }
  float Radiation() const override { return 0.56F; }
};

class Argon : public Material {
 public:
  float Density() const override { return 1.4F; }
  bool IsSensitive() const override { return true; }
};

class Air : public Material {
 public:
  float Density() const override { return 0.0012F; }
};

class Volume {
 public:
  Volume(const Material* material, float thickness) : material_(material), thickness_(thickness) {}
  virtual ~Volume() = default;
  virtual float DistanceToOut(float position) const { return thickness_ - position; }
  virtual int Next(int layer, bool forwards) const { return forwards ? layer + 1 : layer - 1; }
  const Material& material() const { return *material_; }

 protected:
  const Material* material_;
  float thickness_;
};

class Mirror : public Volume {
 public:
  using Volume::Volume;
  int Next(int layer, bool forwards) const override { return forwards ? layer - 1 : layer + 1; }
};

class Tapered : public Volume {
 public:
  using Volume::Volume;
  float DistanceToOut(float position) const override {
    return position < thickness_ / 2 ? thickness_ / 2 - position : thickness_ - position;
  }
};

struct Particle {
  float energy;
  float position;
  int layer;
  bool forwards;
};

class Process {
 public:
  virtual ~Process() = default;
  virtual bool Applies(const Particle& particle) const { return particle.energy > 0; }
  virtual float Length(const Particle& particle, const Material& material) const = 0;
  virtual float Lose(Particle* particle, float length, const Material& material) = 0;
};

class Ionisation : public Process {
 public:
  float Length(const Particle& particle, const Material& material) const override {
    return particle.energy / (1 + material.Density());
  }
  float Lose(Particle* particle, float length, const Material& material) override {
    float lost = length * material.Density() * 0.1F;
    if (lost > particle->energy) lost = particle->energy;
    particle->energy -= lost;
    return lost;
  }
};

class Bremsstrahlung : public Process {
 public:
  bool Applies(const Particle& particle) const override { return particle.energy > 4; }
  float Length(const Particle&, const Material& material) const override {
    return 3 * material.Radiation();
  }
  float Lose(Particle* particle, float, const Material&) override {
    const float lost = particle->energy / 4;
    particle->energy -= lost;
    return lost;
  }
};

class Scattering : public Process {
 public:
  bool Applies(const Particle& particle) const override { return particle.energy < 6; }
  float Length(const Particle&, const Material& material) const override {
    return 2 * material.Radiation() + 0.4F;
  }
  float Lose(Particle* particle, float, const Material&) override {
    if (++scattered_ % 3 == 0) particle->forwards = !particle->forwards;
    return 0;
  }

 private:
  unsigned scattered_ = 0;
};

class Detector {
 public:
  virtual ~Detector() = default;
  virtual void Hit(int layer, float energy) = 0;
};

class Calorimeter : public Detector {
 public:
  explicit Calorimeter(size_t layers) : sums_(layers) {}
  void Hit(int layer, float energy) override {
    sums_[static_cast<size_t>(layer)] += static_cast<double>(energy);
    ++hits_;
  }
  double Sum() const {
    double sum = 0;
    for (size_t i = 0; i < sums_.size(); ++i) sum += static_cast<double>(i + 1) * sums_[i];
    return sum;
  }
  unsigned long hits() const { return hits_; }

 private:
  std::vector<double> sums_;
  unsigned long hits_ = 0;
};

class World {
 public:
  World() {
    materials_.push_back(std::make_unique<Lead>());
    materials_.push_back(std::make_unique<Argon>());
    materials_.push_back(std::make_unique<Air>());
    for (int i = 0; i < kLayers; ++i) {
      const Material* material = materials_[static_cast<size_t>(i % 5 == 4 ? 2 : i % 2)].get();
      const float thickness = material->IsSensitive() ? 0.6F : 0.3F;
      if (i == kLayers - 1) {
        volumes_.push_back(std::make_unique<Mirror>(material, thickness));
      } else if (i % 3 == 2) {
        volumes_.push_back(std::make_unique<Tapered>(material, thickness));
      } else {
        volumes_.push_back(std::make_unique<Volume>(material, thickness));
      }
    }
    processes_.push_back(std::make_unique<Ionisation>());
    processes_.push_back(std::make_unique<Bremsstrahlung>());
    processes_.push_back(std::make_unique<Scattering>());
  }

  static constexpr int kLayers = 12;

  // Moves the particle until it has no energy or has left the world. Returns the number of steps.
  int Track(Particle particle, Detector* detector) {
    int steps = 0;
    while (steps < kMaxSteps && particle.energy > 0.05F && particle.layer >= 0 &&
           particle.layer < kLayers) {
      Step(&particle, detector);
      ++steps;
    }
    return steps;
  }

 private:
  void Step(Particle* particle, Detector* detector) {
    const Volume& volume = *volumes_[static_cast<size_t>(particle->layer)];
    const Material& material = volume.material();
    float shortest = volume.DistanceToOut(particle->position);
    Process* limiting = nullptr;
    for (const auto& process : processes_) {
      if (!process->Applies(*particle)) continue;
      const float length = process->Length(*particle, material);
      if (length >= shortest) continue;
      shortest = length;
      limiting = process.get();
    }
    float lost = processes_.front()->Lose(particle, shortest, material);
    if (limiting != nullptr) lost += limiting->Lose(particle, shortest, material);
    if (material.IsSensitive() && lost > 0) detector->Hit(particle->layer, lost);
    if (limiting != nullptr) {
      particle->position += shortest;
    } else {
      particle->layer = volume.Next(particle->layer, particle->forwards);
      particle->position = 0;
    }
  }

  std::vector<std::unique_ptr<Material>> materials_;
  std::vector<std::unique_ptr<Volume>> volumes_;
  std::vector<std::unique_ptr<Process>> processes_;
};

}  // namespace

int main(int argc, char** argv) {
  const long rounds = RoundsFrom(argc, argv);
  World world;
  Calorimeter calorimeter(World::kLayers);
  unsigned state = 1;
  unsigned long steps = 0;
  for (long round = 0; round < rounds; ++round) {
    for (int i = 0; i < kParticles; ++i) {
      const float energy = 1 + 9 * NextFraction(&state);
      const Particle particle = {energy, 0, 0, true};
      steps += static_cast<unsigned long>(world.Track(particle, &calorimeter));
    }
  }
  std::printf("%lu %lu %.3f\n", steps, calorimeter.hits(), calorimeter.Sum());
}
